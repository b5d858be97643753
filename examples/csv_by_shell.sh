#!/usr/bin/env bash
# From a CSV file to a page of private answers, without a line of Python.
#
#   bash examples/csv_by_shell.sh [FOLDER]
#
# Writes 3,000 made-up patients into FOLDER (visits missing here and there), drafts a schema, protects
# the file with a budget, asks, shares the budget out, and leaves report.html to open.
set -euo pipefail
folder=${1:-csv-by-shell}
mkdir -p "$folder" && cd "$folder"

# 1. A table. Yours is there already; this one is drawn from a seed and describes nobody.
awk 'BEGIN {
  srand(7); print "patient,age,sex,bmi,smoker,visits"
  for (i = 1; i <= 3000; i++) {
    bmi = rand() < 0.1 ? "" : sprintf("%.1f", 18 + 20 * rand())
    print "p" i "," 18 + int(70 * rand()) "," (rand() < 0.5 ? "F" : "M") "," bmi "," \
      (rand() < 0.2 ? "yes" : "no") "," int(12 * rand() * rand())
  }
}' > clinic.csv

# 2. A draft of the schema. It was read from rows, so it is private and no table is protected by it:
discreet sketch clinic.csv --id patient --out draft.toml
if discreet protect clinic.csv --schema draft.toml --dataset clinic --ledger clinic.db --epsilon 2; then
  echo "a draft must be refused" && exit 1
fi

#    What anybody may know, written down by a person.
cat > schema.toml <<'TOML'
id = "patient"

[columns.age]
kind = "number"
low = 18
high = 100
step = 1

[columns.sex]
kind = "category"
values = ["F", "M"]

[columns.bmi]
kind = "number"
low = 10
high = 60

[columns.smoker]
kind = "category"
values = ["no", "yes"]

[columns.visits]
kind = "number"
low = 0
high = 20
step = 1
TOML

discreet schema check schema.toml

# 3. A budget for the table; later commands find both through discreet.toml.
discreet protect clinic.csv --schema schema.toml --dataset clinic --ledger clinic.db --epsilon 2
discreet check    # how the table fits the schema: for the curator's eyes alone

# 4. What would it cost, and would it be any good?
discreet price histogram age --bins 6 --epsilon 0.2

# 5. Ask. A folder that is missing is noticed before anything is charged.
if discreet release histogram age --bins 6 --epsilon 0.2 --plot answers/age.png; then
  echo "a missing folder must be refused" && exit 1
fi
mkdir -p answers
discreet release histogram age --bins 6 --epsilon 0.2 --out answers/age.json --plot answers/age.png
discreet release histogram age --bins 6 --epsilon 0.2    # the same again is free

# 6. Several questions together: one reservation, all of them or none.
cat > plans.toml <<'TOML'
[smokers]
plan = "histogram"
columns = ["sex", "smoker"]
epsilon = 0.2

[bmi]
plan = "quantiles"
column = "bmi"
levels = [0.25, 0.5, 0.75]
epsilon = 0.3

[sex]
plan = "most-frequent"
column = "sex"
epsilon = 0.1
TOML
discreet price --plans plans.toml
discreet release --plans plans.toml --out answers --table answers

# 7. A share for an analyst, who then asks in her own name.
discreet budget allot ann --epsilon 0.5
discreet release histogram visits --epsilon 0.1 --analyst ann --out answers/visits.json

# 8. What was saved can be looked at, drawn and checked without the table.
discreet show answers/bmi.json
discreet plot answers/smokers.json
discreet verify answers/*.json
discreet budget history
discreet report answers/*.json --title "The clinic" --out report.html
