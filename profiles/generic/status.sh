#!/bin/sh
# Prints the status of a PBS job for Snakemake: running, success or failed. Called with the job's id.
# PBS must keep the history of jobs for some minutes (job_history_enable), for qstat -x.
said=$(qstat -x -f "$1" 2>&1)
status=$(printf '%s\n' "$said" | sed -n 's/^ *[Ee]xit_status = //p')
case $said in
    *'job_state = F'* | *'job_state = C'*)
        if [ "$status" = 0 ]; then echo success; else echo failed; fi ;;
    *'Unknown Job'*) echo failed ;;
    *) echo running ;; # also if the server does not answer for a moment
esac
