# What the rules of releases ask of the plan, a function of wildcards each.
from pathlib import Path

from deniable.release import RECEIPT

FOLDER = "results/releases/{release}"


def made_from(wildcards):
    return plan.made_from(wildcards.release)


# What is made once is not made again for newer files. What is not there yet asks for its files as they
# are: Snakemake 9.27 leaves out a job whose `ancient` files are all that a run makes anew.
def made_from_once(wildcards):
    made = made_from(wildcards)
    if not Path(FOLDER.format(release=wildcards.release), RECEIPT).exists():
        return made
    return {name: [ancient(file) for file in files] for name, files in made.items()}


def lane(wildcards):
    return plan.lane(wildcards.release)


def steps_of(wildcards):
    return [step.run for step in plan.steps(wildcards.release)]


def code_of_release(wildcards):
    return plan.code("make_release.py", plan.steps(wildcards.release))


def settings(wildcards):
    return plan.settings("releases", wildcards.release)
