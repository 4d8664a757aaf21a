import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { differenceOf } from "../kits/authorization/agreement.ts";
import { asker, askAll, type Answer, type Asker } from "../kits/authorization/ask.ts";
import { chainFiles, chains } from "../kits/authorization/chains.ts";
import { openHubs } from "../kits/authorization/comparison.ts";
import { readRecording, recordingText, type Recorded, type Recording } from "../kits/authorization/recording.ts";
import { serviceAnswer } from "../kits/authorization/service.ts";
import { startJsonService, type JsonService } from "../kits/json-service.ts";

/**
 * What kube-apiserver 1.20.2 said of some thousand questions about one policy. To record it anew, where the peer is installed:
 * `RECORD=1 npx vitest run test/peers/authorization-comparison.test.ts`.
 */
const file = resolve(import.meta.dirname, "../fixtures/authorization-recorded.jsonl");

let text: string;
let recording: Recording;
let dir: string;
let service: JsonService;
let hubs: Awaited<ReturnType<typeof openHubs>>;
let askers: readonly Asker[] = [];

beforeAll(async () => {
  text = await readFile(file, "utf8");
  recording = readRecording(text);
  dir = await mkdtemp(join(tmpdir(), "pratique-recorded-"));
  service = await startJsonService(({ body }) => ({ body: serviceAnswer(body) }));
  hubs = await openHubs(recording.world, await chainFiles(dir, recording.world, service));
  askers = hubs.hubs.map(asker);
});

afterAll(async () => {
  for (const one of askers) one.close();
  await hubs?.close();
  await service?.close();
  await rm(dir, { recursive: true, force: true });
});

test("is a recording of all chains, some thousand questions, about half of them allowed", () => {
  const { decisions } = recording;
  expect(decisions.length).toBeGreaterThanOrEqual(3000);
  expect(new Set(decisions.map(({ chain }) => chain)).size).toBe(chains.length);
  const allowed = decisions.filter(({ answer }) => answer.allowed === true).length / decisions.length;
  expect(allowed).toBeGreaterThan(0.35);
  expect(allowed).toBeLessThan(0.65);
  expect(text.length).toBeLessThan(500_000);
  expect(recordingText(recording)).toBe(text);
});

test("the hub decides as kube-apiserver did, but for the differences that are known", async () => {
  const strange: (Recorded & { readonly hub: Answer })[] = [];
  for (const [index, chain] of chains.entries()) {
    const one = askers[index];
    const asked = recording.decisions.filter((decision) => decision.chain === index);
    if (one === undefined) throw new TypeError("a chain has no hub");
    const answers = await askAll(
      asked.map(({ question }) => question),
      one,
    );
    for (const [at, decision] of asked.entries()) {
      const { question, answer } = decision;
      const hub = answers[at] ?? {};
      const both = {
        question,
        modes: chain.modes,
        kubernetes: answer,
        hub,
        policy: hubs.policy,
        world: recording.world,
      };
      if (differenceOf(both) === undefined) strange.push({ ...decision, hub });
    }
  }
  expect(strange.slice(0, 20)).toEqual([]);
}, 60_000);
