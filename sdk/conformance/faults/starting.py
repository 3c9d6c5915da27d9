"""Faults from the start to ready."""
import os
import struct
import sys
import threading

import minimal_worker as right
from minimal_worker import LOG, READY, Worker

from . import fault


@fault("hello_comes_first", "no sign of hello")
class no_hello(Worker):
    def hello(self):
        pass


@fault("hello_comes_first", "its magic is b'tollgate'")
class wrong_magic(Worker):
    def hello(self):
        self.write(right.HELLO, 0, struct.pack("<8sHHH", b"tollgate", 1, 1, 0))


@fault("hello_comes_first", "the first frame is log, not hello")
class log_before_hello(Worker):
    def hello(self):
        self.write(LOG, 0, b"\1\0good morning")
        super().hello()


@fault("hello_comes_first", "without version 1")
class version_too_new(Worker):
    def hello(self):
        self.write(right.HELLO, 0, struct.pack("<8sHHH", b"turnpike", 2, 3, 0))


@fault("ready_is_within_bounds", "a second hello")
class second_hello(Worker):
    def load(self):
        self.hello()


@fault("ready_is_within_bounds", "no sign of ready")
class never_ready(Worker):
    def ready(self):
        pass


@fault("a_job_is_answered", "loading after ready")
class loading_after_ready(Worker):
    def ready(self):
        super().ready()
        self.loading(0.9, "still warming up")


@fault("a_job_is_answered", "a second ready")
class second_ready(Worker):
    def ready(self):
        super().ready()
        super().ready()


@fault("ready_is_within_bounds", "ready: slots is 0")
class no_slots(Worker):
    def ready(self):
        self.write(READY, 0, struct.pack("<HHBBHII", 0, 1, 0, 0, 0, 0, 0))


@fault("ready_is_within_bounds", "facts is not UTF-8")
class facts_not_utf8(Worker):
    def ready(self):
        self.write(READY, 0, struct.pack("<HHBBHII", 1, 1, 0, 0, 0, 0, 2) + b"\xff\xfe")


@fault("ready_is_within_bounds", "longer than the payload")
class lies_about_the_example(Worker):
    def ready(self):
        self.write(READY, 0, struct.pack("<HHBBHII", 1, 1, 1, 0, 0, 1000, 0) + b"{}")


@fault("loading_is_told", "permille is 1001")
class permille_too_large(Worker):
    def loading(self, fraction, text):
        super().loading(1.001, text)


@fault("the_configured_width_counts", "welcome had slots 2")
class ignores_the_width(Worker):
    def take_welcome(self, payload):
        super().take_welcome(payload)
        self.slots = self.batch = 1


@fault("a_failed_load_ends_the_worker", "ready, although load failed")
class ready_after_a_failed_load(Worker):
    def load(self):
        try:
            super().load()
        except FileNotFoundError as error:
            sys.stderr.write(f"{error}\n")
            threading.Timer(0.2, os._exit, [1]).start()


@fault("an_unknown_version_is_refused", "welcome had version 99")
class takes_any_version(Worker):
    def take_welcome(self, payload):
        super().take_welcome(b"\1\0" + payload[2:])


@fault("nothing_inherits_the_socket", "the socket is not close-on-exec")
class socket_in_children(Worker):
    def __init__(self):
        super().__init__()
        self.socket.set_inheritable(True)


@fault("nothing_inherits_the_socket", "has inherited it")
class socket_in_a_copy(Worker):
    def predict_spawn(self, job, asked):
        inheritable = os.dup(self.socket.fileno())
        os.set_inheritable(inheritable, True)
        return super().predict_spawn(job, asked)
