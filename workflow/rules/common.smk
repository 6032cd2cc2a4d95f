# What the rules of releases ask of the plan, a function of wildcards each.
FOLDER = "results/releases/{release}"


def made_from(wildcards):
    return plan.made_from(wildcards.release)


# What is drawn once is not made again for newer files.
def made_from_once(wildcards):
    return {
        name: [ancient(file) for file in files]
        for name, files in plan.made_from(wildcards.release).items()
    }


def lane(wildcards):
    return plan.lane(wildcards.release)


def steps_of(wildcards):
    return [step.run for step in plan.steps(wildcards.release)]


def code_of_release(wildcards):
    return plan.code("make_release.py", plan.steps(wildcards.release))


def settings(wildcards):
    return plan.settings("releases", wildcards.release)
