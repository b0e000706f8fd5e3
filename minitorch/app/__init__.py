"""The visual app: `minitorch app`.

`main` is the script that Streamlit runs, `rooms` lists the pages, `screens/` draws them with what is
in `drawings/` and `components/`. The code of a lesson runs in a process of its own (`library`,
`inside/`), on the student's library or on ours.
"""
