"""The script that the gate starts: `python turnpike_worker.py /path/model.py[:Name]`. All other code is in turnpike/.

It uses only old syntax, so that a Python that is too old prints the message below and not a syntax error.
"""
import os
import sys

if __name__ == "__main__":  # children of multiprocessing import this file again, under another name
    if sys.version_info < (3, 9):
        sys.exit("turnpike: this is Python %d.%d (%s), and workers need 3.9 or newer; "
                 "choose another with --python PATH, or python = in turnpike.toml"
                 % (sys.version_info[0], sys.version_info[1], sys.executable))
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    from turnpike._worker.worker import main

    del sys.path[0]
    sys.exit(main(sys.argv))
