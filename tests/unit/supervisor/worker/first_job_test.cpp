#include "supervisor/worker/first_job.h"

#include <gtest/gtest.h>

namespace turnpike {
namespace {

struct Stopwatch {
    Clock clock;
    Wakeups wakeups;
    AnswerAccount answers{wakeups};
    Exchange first{wakeups, answers};
    Exchange second{wakeups, answers};
    FirstJob jobs;

    /// Sends the job and ends its attempt.
    bool ran(const Exchange& exchange, Verdict verdict = Verdict::answered) {
        jobs.sent(exchange, clock);
        return ended(exchange, verdict);
    }
    bool ended(const Exchange& exchange, Verdict verdict = Verdict::answered) {
        return jobs.ended(exchange, verdict, clock).has_value();
    }
};

TEST(FirstJob, IsTimedFromItsSendingToItsEnd) {
    Stopwatch watch;
    const Instant before = watch.clock.now();
    watch.jobs.sent(watch.first, watch.clock);
    Instant after = before;
    while (after == before) {
        watch.clock.forget();
        after = watch.clock.now();
    }
    EXPECT_EQ(watch.jobs.ended(watch.first, Verdict::answered, watch.clock), after - before);
}

TEST(FirstJob, IsToldOnce) {
    Stopwatch watch;
    EXPECT_TRUE(watch.ran(watch.first));
    EXPECT_FALSE(watch.ran(watch.first));
    EXPECT_FALSE(watch.ran(watch.second));
}

TEST(FirstJob, ThatWasNotAnsweredWellIsNotCounted) {
    Stopwatch watch;
    for (const Verdict verdict : {Verdict::bad_input, Verdict::model_failed, Verdict::cancelled,
                                  Verdict::broken, Verdict::undelivered})
        EXPECT_FALSE(watch.ran(watch.first, verdict));
    EXPECT_TRUE(watch.ran(watch.second));
}

TEST(FirstJob, IsTheOneThatWentOutFirst) {
    Stopwatch watch;
    watch.jobs.sent(watch.first, watch.clock);
    EXPECT_FALSE(watch.ran(watch.second)) << "it ended earlier, but is not the first";
    EXPECT_TRUE(watch.ended(watch.first));
}

TEST(FirstJob, IsNotAnAsideJob) {
    Stopwatch watch;
    watch.first.is_aside = true;
    EXPECT_FALSE(watch.ran(watch.first));
    EXPECT_TRUE(watch.ran(watch.second));
}

}  // namespace
}  // namespace turnpike
