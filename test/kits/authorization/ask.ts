import { isDeepStrictEqual } from "node:util";
import { adminKeyPair } from "../api-client.ts";
import type { TestHub } from "../hub.ts";
import { parallelPosts, type PostHeaders } from "../parallel-posts.ts";
import type { Question } from "./question.ts";

/** What a server says of a question; what is empty or false is left out. */
export interface Answer {
  readonly allowed?: true;
  readonly denied?: true;
  readonly reason?: string;
  readonly evaluationError?: string;
  /** Where it was no review: the status and the message. */
  readonly failure?: string;
}

/** One server under questions. */
export interface Asker {
  readonly ask: (question: Question) => Promise<Answer>;
  /** Any POST, as somebody else where headers say so. */
  readonly post: (path: string, body: string, headers?: PostHeaders) => Promise<string>;
  readonly close: () => void;
}

const base = "/apis/authorization.k8s.io/v1";

/** Connects as the admin. */
export function asker(server: Pick<TestHub, "url" | "ca" | "kubeconfig">): Asker {
  const { certPem, keyPem } = adminKeyPair(server);
  const target = { port: Number(new URL(server.url).port), caPem: server.ca };
  const posts = parallelPosts(target, { cert: certPem, key: keyPem });
  const post: Asker["post"] = (path, body, headers = {}) => posts.post(path, body, headers);
  return {
    post,
    ask: async (question) => {
      const { path, headers } = placeOf(question);
      const review = reviewOf(question);
      return answerOf(await post(path, JSON.stringify(review), headers), review.spec);
    },
    close: posts.close,
  };
}

/** The headers that make the admin somebody else. */
export function impersonating({ user, groups }: Pick<Question, "user" | "groups">): PostHeaders {
  return { "impersonate-user": user, ...(groups.length === 0 ? {} : { "impersonate-group": [...groups] }) };
}

function placeOf(question: Question): { readonly path: string; readonly headers?: PostHeaders } {
  switch (question.by) {
    case "subject":
      return { path: `${base}/subjectaccessreviews` };
    case "local": {
      const namespace = encodeURIComponent(question.resource?.namespace ?? "");
      return { path: `${base}/namespaces/${namespace}/localsubjectaccessreviews` };
    }
    case "self":
      return { path: `${base}/selfsubjectaccessreviews`, headers: impersonating(question) };
  }
}

/** Release 1.20 wants the namespace of a local review in its metadata as well. */
function reviewOf({ by, user, groups, uid, extra, resource, path }: Question): {
  readonly metadata?: object;
  readonly spec: object;
} {
  const action = resource === undefined ? { nonResourceAttributes: path } : { resourceAttributes: resource };
  const metadata = by === "local" ? { namespace: resource?.namespace } : undefined;
  return {
    ...(metadata === undefined ? {} : { metadata }),
    spec: by === "self" ? action : { ...action, user, groups, uid, extra },
  };
}

interface Review {
  readonly spec?: object;
  readonly status?: Readonly<Record<string, unknown>> | string;
  readonly message?: string;
  readonly code?: number;
}

/** @throws Error where the reply repeats another question, so that a swapped reply is not taken for a wrong decision. */
function answerOf(text: string, asked: object): Answer {
  // What nobody decided is refused in plain words.
  if (!text.startsWith("{")) return { failure: text };
  const { spec, status, message = "", code = 0 } = JSON.parse(text) as Review;
  if (typeof status !== "object") return { failure: `${code} ${message}` };
  if (!isDeepStrictEqual(withoutEmpty(spec), withoutEmpty(asked))) {
    throw new Error(`asked ${JSON.stringify(asked)}, the reply is to ${JSON.stringify(spec)}`);
  }
  const { allowed, denied, reason, evaluationError } = status;
  return {
    ...(allowed === true ? { allowed } : {}),
    ...(denied === true ? { denied } : {}),
    ...(typeof reason === "string" && reason !== "" ? { reason } : {}),
    ...(typeof evaluationError === "string" && evaluationError !== "" ? { evaluationError } : {}),
  };
}

/** As Go writes it with omitempty. */
function withoutEmpty(value: unknown): unknown {
  if (Array.isArray(value)) return value.length === 0 ? undefined : value;
  if (typeof value !== "object" || value === null) return value === "" ? undefined : value;
  const filled = Object.entries(value).flatMap(([name, inner]) => {
    const kept = withoutEmpty(inner);
    return kept === undefined ? [] : [[name, kept] as const];
  });
  return filled.length === 0 ? undefined : Object.fromEntries(filled);
}

/** So many questions are under way at once. */
const width = 48;

/** The answers to all questions, in their order. */
export async function askAll(questions: readonly Question[], { ask }: Asker): Promise<readonly Answer[]> {
  const answers: Answer[] = [];
  let next = 0;
  const one = async (): Promise<void> => {
    for (let at = next++; at < questions.length; at = next++) {
      const question = questions[at];
      if (question !== undefined) answers[at] = await ask(question);
    }
  };
  await Promise.all(Array.from({ length: width }, one));
  return answers;
}
