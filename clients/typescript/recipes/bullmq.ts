/** BullMQ: a job whose vendor is at its limit goes back to the queue with the returned delay. The worker never sleeps: other jobs
 *  and other queues run at once. A wait is no failed attempt (BullMQ counts neither `attemptsMade` nor a backoff for it).
 *
 *    new Worker("hubspot", withRateLimit(dripgate, "hubspot", (job) => ({ portal: job.data.portal }), callHubspot), { connection });
 */
import { DelayedError, type Job } from "bullmq";
import { RateLimitExceededError, type Attributes, type Dripgate } from "@dripgate/client";

export function withRateLimit<Data, Result>(
  dripgate: Dripgate, vendor: string, attributesOf: (job: Job<Data, Result>) => Attributes, call: (job: Job<Data, Result>) => Promise<Result>,
): (job: Job<Data, Result>, token?: string) => Promise<Result> {
  return async (job, token) => {
    try {
      return await dripgate.executeWithRateLimit(vendor, attributesOf(job), () => call(job));
    } catch (error) {
      if (!(error instanceof RateLimitExceededError)) throw error;
      await job.moveToDelayed(Date.now() + error.delayMs, token);
      throw new DelayedError();
    }
  };
}
