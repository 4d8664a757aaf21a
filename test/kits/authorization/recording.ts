import type { Answer } from "./ask.ts";
import type { AskedResource, Question } from "./question.ts";
import type { World } from "./world.ts";

/** One question to one of the chains, with what kube-apiserver answered. */
export interface Recorded {
  /** Place of the chain, from 0. */
  readonly chain: number;
  readonly question: Question;
  readonly answer: Answer;
}

export interface Recording {
  readonly world: World;
  readonly decisions: readonly Recorded[];
}

const fields = ["verb", "group", "version", "resource", "subresource", "namespace", "name"] as const;

type Row = readonly [chain: number, by: Question["by"], subject: number, asked: readonly string[], answer: number];

/** JSON lines: the world, a table of subjects, a table of answers, and then a row of places and words for each decision. */
export function recordingText({ world, decisions }: Recording): string {
  const [subjects, answers] = [table(), table()];
  const rows = decisions.map(({ chain, question, answer }): Row => {
    const { by, user, groups, uid, extra, resource, path } = question;
    const asked = path === undefined ? fields.map((field) => resource?.[field] ?? "") : [path.path, path.verb];
    return [chain, by, subjects.place({ user, groups, uid, extra }), asked, answers.place(answer)];
  });
  const parts = [world, subjects.all(), answers.all(), ...rows];
  return `${parts.map((part) => JSON.stringify(part)).join("\n")}\n`;
}

/** What `recordingText` wrote. */
export function readRecording(text: string): Recording {
  const [world, subjects, answers, ...rows] = text
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as unknown);
  const [known, said] = [subjects as readonly Omit<Question, "by">[], answers as readonly Answer[]];
  const decisions = (rows as readonly Row[]).map(([chain, by, subject, asked, answer]): Recorded => {
    const [path = "", verb = ""] = asked;
    const action = asked.length === 2 ? { path: { path, verb } } : { resource: resourceOf(asked) };
    const who = known[subject];
    const given = said[answer];
    if (who === undefined || given === undefined) throw new TypeError("a row refers to nothing");
    return { chain, question: { by, ...who, ...action }, answer: given };
  });
  return { world: world as World, decisions };
}

function resourceOf(words: readonly string[]): AskedResource {
  return Object.fromEntries(fields.flatMap((field, index) => (words[index] ? [[field, words[index]]] : [])));
}

/** Values, each once, by their places. */
function table(): { readonly place: (value: object) => number; readonly all: () => readonly unknown[] } {
  const places = new Map<string, number>();
  return {
    place: (value) => {
      const text = JSON.stringify(value);
      const place = places.get(text) ?? places.size;
      places.set(text, place);
      return place;
    },
    all: () => [...places.keys()].map((text) => JSON.parse(text) as unknown),
  };
}
