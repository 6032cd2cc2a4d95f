"""Write the matrices that a release went through, of every stratum and block."""

from deniable.files import read_json, write_table
from deniable.pram import StratifiedProtocol
from deniable.release.categorical import matrices_table, write_matrices

from job import job

with job(snakemake):
    protocol = StratifiedProtocol.from_json(read_json(snakemake.input[0]))
    write_table(snakemake.output.table, matrices_table(protocol))
    write_matrices(protocol, snakemake.output.folder)
