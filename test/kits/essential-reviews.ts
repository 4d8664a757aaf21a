import { accessReviewSpec } from "../../src/authorization/access-review-spec.ts";
import { essentialComponents, type EssentialComponent } from "../../src/authorization/lockout-check.ts";
import type { Kubectl } from "./kubectl.ts";

/** What an API server says of the requests of those who must not be locked out. */
export interface EssentialAnswers {
  readonly requests: number;
  /** `kubelet: get secrets: the reason`. */
  readonly refused: readonly string[];
}

const atOnce = 150;

/** Asks an API server, as somebody who may ask about others, for what these components need. */
export async function askEssentials(
  admin: Kubectl,
  which: (component: EssentialComponent) => boolean,
): Promise<EssentialAnswers> {
  const questions = essentialComponents()
    .filter(which)
    .flatMap(({ component, user, asks }) => asks.map((ask) => ({ component, attributes: { ...ask, user } })));
  const answers: string[] = [];
  for (let from = 0; from < questions.length; from += atOnce) {
    const items = questions.slice(from, from + atOnce).map(({ attributes }) => ({
      apiVersion: "authorization.k8s.io/v1",
      kind: "SubjectAccessReview",
      spec: accessReviewSpec(attributes),
    }));
    const input = JSON.stringify({ apiVersion: "v1", kind: "List", items });
    const format = 'jsonpath={.status.allowed} {.status.reason}{"\\n"}';
    const printed = await admin.with({ input }).ok("create", "--validate=false", "-f", "-", "-o", format);
    answers.push(...printed.split("\n").slice(0, -1));
  }
  if (answers.length !== questions.length)
    throw new Error(`${answers.length} answers to ${questions.length} questions`);
  const refused = questions.flatMap(({ component, attributes: { verb, resource, subresource, path } }, index) => {
    const [allowed, ...reason] = (answers[index] ?? "").split(" ");
    const what = path ?? [resource, subresource].filter((part) => part !== "").join("/");
    return allowed === "true" ? [] : [`${component}: ${verb} ${what}: ${reason.join(" ")}`];
  });
  return { requests: questions.length, refused };
}
