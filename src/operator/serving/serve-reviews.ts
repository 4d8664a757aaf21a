import { failureMessage } from "../../client/api-errors.ts";
import { logEntry } from "../../apimachinery/log-entry.ts";
import { acceptFailureLog } from "../../host/listening.ts";
import { renewalCheckMs, repeat } from "../../host/repeat.ts";
import type { World } from "../world.ts";
import { serveJson, type JsonServerOptions } from "./json-server.ts";
import { clientCaOf, type SecureServing } from "./secure-serving.ts";
import type { ServingPair } from "./serving-pair.ts";

type Answers = "answerTo" | "takesAnyJson" | "isReady" | "answersEarly" | "metrics";

export interface ReviewServing extends Pick<JsonServerOptions, Answers> {
  /** What answers, for log lines: `the webhook`. */
  readonly program: string;
  readonly serving: SecureServing;
  readonly pair: ServingPair;
  readonly world: World;
  readonly signal: AbortSignal;
  /** What runs once the port is open, until `signal` aborts. */
  readonly whileServing: () => Promise<unknown>;
}

const drainMs = 5_000;

/** Answers reviews over HTTPS until `signal` aborts; reviews in progress then have five seconds. @throws OptionError */
export async function serveReviews(options: ReviewServing): Promise<void> {
  const { program, serving, pair, world, signal, whileServing, ...answers } = options;
  const { clock, log } = world;
  const listening = await serveJson({
    ...answers,
    ...pair.current(),
    caPem: pair.caPem,
    host: serving.bindAddress,
    port: serving.port,
    clientCaPem: await clientCaOf(serving, world),
    certificateProblem: pair.problem,
    clock,
    onFault: (error) =>
      log(logEntry("ReviewFailed", `${program} cannot answer a review`, { error: failureMessage(error) })),
    acceptFailed: acceptFailureLog({ log, now: () => performance.now(), server: program }),
  });
  log(logEntry("Listening", `${program} listens`, { port: listening.port }));
  const running = whileServing();
  await repeat({
    clock,
    signal,
    everyMs: renewalCheckMs,
    work: () => pair.look(listening.renew),
    failed: (error) =>
      log(
        logEntry(
          "CertificateRenewalFailed",
          `${program} cannot renew its serving certificate; it keeps the previous one`,
          { error },
        ),
      ),
  });
  log(logEntry("Stopping", `${program} stops: reviews in progress may finish; a second signal ends it at once`));
  await listening.close(drainMs);
  await running;
}
