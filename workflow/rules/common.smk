# What the rules of releases ask of the plan, a function of wildcards each.
FOLDER = "results/releases/{release}"


def in_folder(files):
    return [f"{FOLDER}/{file}" for file in files]


# What is drawn once is not made again for newer files, another seed or newer code; its provenance
# has the digest of the code behind its step all the same.
def files_left(find):
    def found(wildcards):
        once = plan.drawn_once(wildcards.release)
        return [ancient(file) if once else file for file in find(wildcards.release)]

    return found


def left(value):
    return lambda wildcards: None if plan.drawn_once(wildcards.release) else value(wildcards)


def seed(wildcards):
    return plan.config.seed


def code_of(script, *step):
    return lambda wildcards: plan.code(script, *step)


def settings(wildcards):
    return plan.settings("releases", wildcards.release)


def settings_of_estimates(wildcards):
    return plan.settings_of_estimates(wildcards.release)
