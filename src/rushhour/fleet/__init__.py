"""The fleet: runs in virtual time carried out on other machines, by Dask distributed.

    connect.connected   an address → a client of the scheduler
    executor.Fleet      jobs → sealed records, made by workers (`rushhour.running.executor.Executor`)
    worker.serve        what a worker is asked, and its answer, both bytes
    up, status, down    a scheduler and workers on ssh hosts, for `fleet:NAME`

Nothing else of the program knows where a run happens, and nothing else imports Dask.
"""
