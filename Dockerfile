# The project with every package of requirements.lock, hashes checked, for an unprivileged user. It has
# only the packages of a run. For tests and developers' tools use a clone.
#
#   docker build --tag deniable .        (make container also checks that it starts)
#   mkdir -p results && chmod a+rwx results
#   docker run --rm --volume "$PWD/results:/deniable/results" deniable quick
#
# podman and buildah use the same file; docs/elsewhere.md has details, and the checks that were made.
# Debian 12.15, tag bookworm-20260803-slim; the digest is of the index over all architectures, as
# docker-library/repo-info lists it for debian:12-slim. To renew it, take the one in this file of the
# repository: repos/debian/remote/12-slim.md.
FROM docker.io/library/debian@sha256:abd67ffcfa541b485a3dff59865ab629aa048a6c613e639d36e7456b0b229241

# Debian 12 has Python 3.11. `make` builds the environment as on any other machine.
# hadolint ignore=DL3008 # Debian's archive has no older versions to pin.
RUN apt-get update \
    && apt-get install --yes --no-install-recommends ca-certificates make python3 python3-venv \
    && rm -rf /var/lib/apt/lists/*

RUN useradd --create-home --uid 1000 deniable \
    && install --directory --owner=deniable --group=deniable /deniable /deniable/results
# A number, so that Kubernetes can verify that it is not root.
USER 1000
WORKDIR /deniable

# First the files that decide the packages, so that a change of the code does not install them again.
COPY --chown=deniable:deniable Makefile pyproject.toml requirements.lock requirements-build.lock README.md LICENSE ./
COPY --chown=deniable:deniable tools/make_environment.sh tools/
COPY --chown=deniable:deniable src/deniable/__init__.py src/deniable/
RUN make environment DEVELOPING=0 PYTHON=python3 && rm -rf ~/.cache

COPY --chown=deniable:deniable . .
# The code of the project is compiled once, as the packages.
RUN .venv/bin/python -m compileall -q src workflow

ENV PATH=/deniable/.venv/bin:$PATH
# The argument is a make target: quick, reproduce, report, check. Otherwise use --entrypoint snakemake.
ENTRYPOINT ["make"]
CMD ["help"]
