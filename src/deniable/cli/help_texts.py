"""The descriptions and examples of all commands."""

DESCRIPTION = """\
Protect a file of your own and estimate from a release: schema, explore, compare,
plan, protect, estimate.
Analyse a channel (a transition matrix) or optimize one: channel, design.

A matrix file is a CSV file with the categories as its header and as its first column. Row u, column
v is the probability of the randomized value v if the true category is u.
"""
EXAMPLES = """\
lists of columns:
  Write commas between names, and quotation marks around a name with a comma, such as
  '"odd, name",sex'. Double the quotation marks inside such a name.

outputs:
  An output never replaces an input, and is never written into a published folder. It replaces a
  plan, a matrix or a table only if that is an earlier output.

exit codes:
  0 if all requests were answered. 1 if an answer does not exist: no matrix meets the requirements,
  no estimate follows from the counts, or one of several questions is refused (the other answers are
  given). 2 for invalid input: a file, an option, an output path. Then nothing was written. 130
  after Ctrl-C, and 141 if the reader of the output ended.

examples:
  deniable schema survey.csv > survey.yaml
  deniable plan survey.yaml --epsilon 2 --out plan.json
  deniable ledger init /safe/ledger
  deniable protect survey.csv plan.json --out release/ --ledger /safe/ledger
  deniable estimate release/public
  deniable channel matrix.csv --counts counts.csv --json
  deniable design specification.yaml --output designed
"""
COMMANDS = {
    "channel": """\
Print epsilon, parity, guaranteed factor (beta) and breach bounds of a channel. With a prior, print
posterior probabilities. With counts of randomized values, print the unbiased estimate with its
covariance, standard errors and intervals, and the maximum-likelihood distribution.

files:
  MATRIX.csv   categories as header and as first column, one row per true category; with the
               word "report" in the first cell, the header names other randomized values
  PRIOR.csv    columns category,probability
  COUNTS.csv   columns category,count (or report,count)

examples:
  deniable channel matrix.csv
  deniable channel matrix.csv --prior prior.csv
  deniable channel matrix.csv --counts counts.csv --target file --confidence 0.9
  deniable channel matrix.csv --json | jq .epsilon
""",
    "design": """\
Find the transition matrix with the smallest loss for given proportions that meets given
requirements. Write it to NAME-matrix.csv, and its properties to NAME-properties.json, with NAME
from SPEC.yaml.

examples:
  deniable design specification.yaml
  deniable design specification.yaml --output designed
  deniable design specification.yaml --matrix matrix.csv --json
""",
    "schema": """\
Draft a schema of a file of records, as YAML with the kind of each column and with comments. Edit
the draft before you use it. It goes to standard output, and remarks go to standard error.

examples:
  deniable schema survey.csv > survey.yaml
  deniable schema baskets.txt --transactions > baskets.yaml
  deniable schema survey.txt --delimiter ';' --encoding cp1252 --population panel > survey.yaml
""",
    "protect": """\
Protect a file of records by a plan. Files to publish go to OUT/public, and files that reveal the
original records go to OUT/private. The release is drawn once. After an interruption, the same
command continues. With --test, files for tests only go to OUT/test, and OUT/private/comparison.csv
compares estimates from them with the original records, which then are all in memory.

examples:
  deniable protect survey.csv plan.json --out release/ --ledger /safe/ledger
  deniable protect survey.csv plan.json --out release/ --quasi-identifiers sex,age,region
  deniable protect survey.csv plan.json --out trial/ --test 1
""",
    "approve": """\
Approve a plan as a second person. The plan names its author. APPROVAL.json has both names, which
are stated and not authenticated, the date and the digest of the plan.

examples:
  deniable approve plan.json --name "B. Checker" --out approval.json
""",
    "verify": """\
Verify a public folder as an auditor does, without key, ledger or records. Exit codes: 0 if all
checks hold, 1 if the release is withdrawn, 2 if a check fails.

examples:
  deniable verify release/public
""",
    "withdraw": """\
Withdraw a wrong release by the note WITHDRAWN.txt in its public folder. The ledger still counts it.

examples:
  deniable withdraw release/public --reason "column income had the wrong currency"
""",
    "ledger": """\
Make a ledger, or list the releases in it. A ledger counts the epsilon of production releases, by
population, before a release is drawn. It is as confidential as the records. Keep and back it up.

examples:
  deniable ledger init /safe/ledger
  deniable ledger show --ledger /safe/ledger
""",
    "plan": """\
Plan the mechanism and the budget of each column or cluster of a file, at an exact epsilon of the
whole record. By default only the schema is used, and no data. With --verify, compute the exact
epsilons of a plan again, in fractions, from the plan alone.

targets:
  One of --epsilon, --beta, --breach, --within and --settings. With --beta B, epsilon is ln B,
  rounded down. With --breach, no prior probability of a set below RHO_1 rises above RHO_2, and none
  above RHO_2 falls below RHO_1 ([pram], Theorems 3.1 and 3.2). --within P has the least epsilon, to
  three digits, at which no --table, by default no column, has above ± P points with --records N.
  --settings has --data, --accept, --for-error, --records and --matrices alone of the other options.

errors:
  --records N prints the expected half-width of 95 % intervals in percentage points, at --prior or
  uniform distributions, next to a guess without data. For a number these are proportions at or
  below a point. A note names estimates that are worse than the guess.

budget allocation:
  --split even gives each column or cluster the same epsilon, and size follows numbers of
  categories. optimal has the least error of the stated tables, otherwise of the marginal
  distributions. It leaves out columns in no table, unless --floor gives them a part. each gives all
  of epsilon to each column or cluster, and the record has their sum (not with --beta and --breach).

mechanisms:
  generalized-rr, subset-selection, hadamard, projective-geometry, designed, square-wave, laplace,
  staircase, and invariant. The last one needs --data and discloses the original frequencies.

examples:
  deniable plan survey.yaml --epsilon 2 --out plan.json
  deniable plan survey.yaml --epsilon 2 --out plan.json --cluster sex,income --mechanism hadamard
  deniable plan survey.yaml --epsilon 2 --out plan.json --split optimal --table sex,income
  deniable plan survey.yaml --epsilon 2 --out plan.json --records 12000 --table sex,income
  deniable plan survey.yaml --within 2 --out plan.json --records 12000 --split optimal --table sex
  deniable plan survey.yaml --epsilon 2 --out plan.json --share income=0.5
  deniable plan survey.yaml --epsilon 2 --out plan.json --for-error 0.05 --table sex,income
  deniable plan survey.yaml --epsilon 2 --out first.json --part 1/2:panel
  deniable plan survey.yaml --epsilon 2 --out p.json --part 2/2:panel --clusters-from R/public 9 0.1
  deniable plan survey.yaml --settings plan.yaml --out plan.json
  deniable plan --verify plan.json --matrices matrices.csv
""",
    "compare": """\
Compare expected errors of marginal distributions, pairs and stated tables, for each mechanism at
each exact epsilon, and recommend the mechanism with the smallest error. Errors have closed forms.
By default the original distributions are used, so the result is for the data owner only. The errors
are half-widths of 95 % intervals in percentage points. compare.csv also has the root mean squared
errors of proportions that randomization adds. The command needs the extras
design and report: pip install '.[design,report]'.

examples:
  deniable compare survey.csv survey.yaml --epsilon 0.5 1 2 4
  deniable compare survey.csv survey.yaml --epsilon 1 2 --table sex,income --out compared
  deniable compare survey.csv survey.yaml --epsilon 1 2 --public
""",
    "explore": """\
Make one page of HTML on which you choose an epsilon with a slider. For each epsilon it shows the
odds of a person in words, the expected error of each column and table, the guarantees with their
limits, and the command for the plan. The page follows from the schema alone and needs no network.
The command needs the extra report: pip install '.[report]'.

examples:
  deniable explore survey.yaml --records 20000 --out explore.html
  deniable explore survey.yaml --records 20000 --table sex,income --out explore.html
""",
    "secure-sum": """\
Count pairs of columns in the files of three or more parties, without revealing the counts of any
party. Each party splits its counts into shares, and adds the shares that it receives. Anybody adds
the partial sums. The total is exact, and no epsilon covers it: see docs/secure-sum.md.

examples:
  deniable secure-sum share own.csv survey.yaml --session may --party 1 --parties 3 --out shares
  deniable secure-sum add share-1-to-1.jsonl share-2-to-1.jsonl share-3-to-1.jsonl --out sum-1.jsonl
  deniable secure-sum total survey.yaml sum-1.jsonl sum-2.jsonl sum-3.jsonl --out total.json
""",
    "estimate": """\
Estimate marginal distributions, tables, proportions, tests of independence, regressions, weights
and synthetic records from the public folder of a release alone. Without a question, estimate
marginal distributions, and means and quantiles of numbers, as far as the release has them.

queries:
  All conditions of a query must hold: column=value, column=one|another, column!=value, and <, <=,
  >, >= for numeric and ordered columns. Put quotes around names and values with any of "=!<>,|.
  The value (missing) is a missing value. Give <, <=, > and >= a boundary between two points or
  intervals. For any other number, an error names the nearest boundaries.

examples:
  deniable estimate release/public
  deniable estimate release/public --table sex,income --test independence
  deniable estimate release/public --query "sex=F,age>=30" --target file --confidence 0.9
  deniable estimate release/public --table sex,income --weight w --format html --out page.html
  deniable estimate release/public --test independence --consistent --two-step
  deniable estimate release/public --regress "income ~ age + sex" --method likelihood
  deniable estimate release/public --itemsets --min-support 0.2 --rule "tea,milk => sugar"
  deniable estimate release/public --synthetic 1000 --out synthetic.csv
""",
    "rrba": """\
Collect tables by randomized response block aggregation between processes. Each client randomizes
its own answers, aggregators send questions to clients block by block, and a server counts. All of
them read the plan (kind: collected) and check messages by it. Messages are lines of JSON
(docs/rrba.md).

examples:
  deniable rrba client plan.json me.csv --state /safe/me --name ann < questions > answers
  deniable rrba aggregator plan.json names.txt --reports reports.jsonl > questions < answers
  deniable rrba server plan.json reports.jsonl --out collected
""",
}
"""The description of each command, a blank line, and its examples."""
