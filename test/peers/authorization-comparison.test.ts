import { writeFile } from "node:fs/promises";
import { resolve } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { differenceOf, differences } from "../kits/authorization/agreement.ts";
import { askAll, type Answer } from "../kits/authorization/ask.ts";
import { openComparison, type Comparison, type Side } from "../kits/authorization/comparison.ts";
import { randomQuestions, type Question } from "../kits/authorization/question.ts";
import { caseSeed, seededRandom } from "../kits/authorization/random.ts";
import { recordingText, type Recorded } from "../kits/authorization/recording.ts";
import { differingRules } from "../kits/authorization/rules-reviews.ts";
import { randomWorld } from "../kits/authorization/world.ts";
import { peerSuite } from "../kits/peers.ts";
import { kubePrograms } from "../kits/peers-kube.ts";

/**
 * The same questions to chains of authorizers here and in kube-apiserver. `FC_SEED=<number>` makes another policy and other questions.
 * `RECORD=1` asks some thousand questions about a smaller policy and writes the answers of kube-apiserver to the file that
 * test/e2e/authorization-recorded.test.ts reads.
 */
const isRecording = process.env["RECORD"] === "1";
const recording = resolve(import.meta.dirname, "../fixtures/authorization-recorded.jsonl");
const [roles, total] = isRecording ? [24, 3_000] : [120, 100_000];
const rulesReviews = 200;

interface Asked {
  readonly side: number;
  readonly question: Question;
  readonly hub: Answer;
  readonly kubernetes: Answer;
  readonly difference: string | undefined;
}

peerSuite(kubePrograms, `${total} decisions of seed ${caseSeed()}`, () => {
  const random = seededRandom(caseSeed());
  const world = randomWorld(random, roles);
  let comparison: Comparison;

  beforeAll(async () => {
    comparison = await openComparison(world);
  }, 300_000);

  afterAll(() => comparison?.close());

  async function askSide({ chain, kubernetes, hub }: Side, side: number): Promise<readonly Asked[]> {
    const { policy } = comparison;
    const next = randomQuestions(random, { ...world, policy }, chain.shares);
    const questions = Array.from({ length: Math.round((total * chain.weight) / 100) }, next);
    const [theirs, ours] = await Promise.all([askAll(questions, kubernetes), askAll(questions, hub)]);
    return questions.map((question, at) => {
      const answers = { question, kubernetes: theirs[at] ?? {}, hub: ours[at] ?? {} };
      return { side, ...answers, difference: differenceOf({ ...answers, modes: chain.modes, policy, world }) };
    });
  }

  test("are the same, but for the differences that are known", async () => {
    const asked: Asked[] = [];
    for (const [index, side] of comparison.sides.entries()) asked.push(...(await askSide(side, index)));
    expect(asked).toHaveLength(total);
    const allowed = asked.filter(({ kubernetes }) => kubernetes.allowed === true).length;
    expect(allowed / total).toBeGreaterThan(0.3);
    expect(allowed / total).toBeLessThan(0.7);
    expect(asked.filter(({ difference }) => difference === undefined).slice(0, 20)).toEqual([]);
    const met = new Set(asked.map(({ difference }) => difference));
    if (isRecording) await writeFile(recording, recordingText({ world, decisions: asked.map(recorded) }));
    // A few questions need not meet all of them.
    const gone = differences.map(({ name }) => name).filter((name) => !isRecording && !met.has(name));
    expect(gone).toEqual([]);
  }, 600_000);

  test("have the same rules to list", async () => {
    const { sides, policy, defaults } = comparison;
    let paths = 0;
    for (const side of sides) {
      const next = randomQuestions(random, { ...world, policy }, side.chain.shares);
      const found = await differingRules(side, { next, count: rulesReviews, defaults, policy });
      expect(found.strange).toEqual([]);
      paths += found.paths;
    }
    expect(paths).toBeGreaterThan(0);
  }, 60_000);
});

function recorded({ side, question, kubernetes }: Asked): Recorded {
  return { chain: side, question, answer: kubernetes };
}
