"""Late progress, from threads that outlive their jobs, is ignored and does no harm."""
import unittest

from conversation import TalkCase, WorkerGone

LATE = """
import threading, turnpike
class Late(turnpike.Model):
    {extra}
    def unload(self):
        turnpike.job().progress(0.7, "in unload")
        print("unloaded")
    {define} predict(self, x):
        if x == "report":
            self.late.start()
            self.late.join()
            return "reported"
        job = turnpike.job()
        self.late = threading.Thread(target=lambda: job.progress(0.5, "late"))
        return "answered"
"""
HAMMERS = """
import threading, turnpike
jobs = []
def hammer():
    while True:
        for job in jobs[-2:]:
            job.progress(0.5, "again")
def load(lane):
    threading.Thread(target=hammer, daemon=True).start()
{define} predict(x):
    jobs.append(turnpike.job())
    return x
"""


class LateProgress(TalkCase):
    def test_after_the_jobs_end_nothing_is_said_about_it(self):
        for define, extra in (("def", "pass"), ("def", "slots = 2"), ("async def", "pass")):
            with self.subTest(define, extra=extra):
                talk = self.serve(LATE.format(define=define, extra=extra))
                self.assertEqual(talk.ask("keep").body, b"answered")
                number = talk.send("report")
                end = talk.gate.next()
                self.assertEqual((end.name, end.id, end.body), ("done", number, b"reported"))
                self.assertEqual(talk.stop(), 0)
                with self.assertRaises(WorkerGone):  # and no frame came before that
                    talk.gate.next()
                self.assertEqual(talk.stdout(), "unloaded\n")

    def test_no_progress_slips_behind_the_end_of_its_job(self):
        for define in ("def", "async def"):
            with self.subTest(define):
                talk = self.serve(HAMMERS.format(define=define))
                for _ in range(300):
                    number, last = talk.send(1), None
                    while last != "done":
                        frame = talk.gate.next()
                        self.assertEqual(frame.id, number, frame)
                        last = frame.name


if __name__ == "__main__":
    unittest.main()
