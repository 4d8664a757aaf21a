import type { Kind } from "./kinds.ts";
import { send, type Row, type RowsOf } from "./row.ts";

/** Bodies and queries of a removal. */
const options: Readonly<
  Record<string, { readonly body?: object | string; readonly query?: string; readonly type?: string }>
> = {
  "no options": {},
  "an empty body": { body: {} },
  "options of another kind": { body: { kind: "Robot", apiVersion: "v1" } },
  "options of another apiVersion": { body: { kind: "DeleteOptions", apiVersion: "example.com/v7" } },
  "options of the group of options": { body: { kind: "DeleteOptions", apiVersion: "meta.k8s.io/v1" } },
  "broken JSON": { body: "{", type: "application/json" },
  "an unknown media type": { body: "{}", type: "text/csv" },
  "another uid": { body: { preconditions: { uid: "00000000-0000-4000-8000-000000000000" } } },
  "another version": { body: { preconditions: { resourceVersion: "1" } } },
  "the background": { body: { propagationPolicy: "Background" } },
  "an unknown policy": { body: { propagationPolicy: "Sideways" } },
  "a policy and orphans": { body: { propagationPolicy: "Background", orphanDependents: false } },
  "a policy as a number": { body: { propagationPolicy: 7 } },
  "a negative grace": { body: { gracePeriodSeconds: -1 } },
  "a grace as text": { body: { gracePeriodSeconds: "soon" } },
  dryRun: { body: { dryRun: ["All"] } },
  "another dryRun": { body: { dryRun: ["Some"] } },
  "dryRun in the query": { query: "?dryRun=All" },
  "another dryRun in the query": { query: "?dryRun=Some" },
  "an unknown policy in the query": { query: "?propagationPolicy=Sideways" },
  "a grace in the query that is none": { query: "?gracePeriodSeconds=soon" },
  "a policy in the query": { query: "?propagationPolicy=Background" },
};

/** Removing one of a kind, or many. */
export const deletes: RowsOf<Kind> = (kind) => {
  const { plural, at, make } = kind;
  const remove = ([id, { body, query = "", type }]: readonly [string, (typeof options)[string]]): Row => ({
    id: `${plural}: delete with ${id}`,
    given: [send("POST", at(), make("d-{row}"))],
    ask: {
      method: "DELETE",
      path: `${at()}/d-{row}${query}`,
      ...(body === undefined ? {} : { body }),
      ...(type === undefined ? {} : { type }),
    },
  });
  const all = (id: string, query: string): Row => ({
    id: `${plural}: delete all with ${id}`,
    ask: { method: "DELETE", path: `${at()}?${query}` },
  });
  return [
    ...Object.entries(options).map((entry) => remove(entry)),
    { id: `${plural}: delete one that is missing`, ask: { method: "DELETE", path: `${at()}/d-{row}` } },
    all("a label that none has", "labelSelector=none%3Dsuch"),
    all("a bad label selector", "labelSelector=%21%21"),
    all("an unknown field", "fieldSelector=spec.none%3D1"),
    all("another dryRun", "labelSelector=none%3Dsuch&dryRun=Some"),
    all("an unknown policy", "labelSelector=none%3Dsuch&propagationPolicy=Sideways"),
  ];
};
