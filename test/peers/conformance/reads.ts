import { thorough, type Kind } from "./kinds.ts";
import { send, type RowsOf } from "./row.ts";

const as = (what: string, version = "v1"): string => `application/json;as=${what};v=${version};g=meta.k8s.io`;

const accepts: Readonly<Record<string, string>> = {
  "as a table": as("Table"),
  "as an old table": as("Table", "v1beta1"),
  "as a table of a version to come": as("Table", "v9"),
  "as metadata": as("PartialObjectMetadata"),
  "as a list of metadata": as("PartialObjectMetadataList"),
  "as something unknown": as("Robot"),
  "as YAML": "application/yaml",
  "as CSV": "text/csv",
  "as CSV or JSON": "text/csv, application/json;q=0.5",
  "as anything": "*/*",
  "as any application": "application/*",
  "as nothing that is a type": "json",
};

/** What a query may say of one object. */
const getQueries: Readonly<Record<string, string>> = {
  "an invalid version": "resourceVersion=x",
  "a negative version": "resourceVersion=-1",
  "an unknown parameter": "colour=red",
  pretty: "pretty=true",
};

/** What a query may say of many. */
const listQueries: Readonly<Record<string, string>> = {
  "a limit that is none": "limit=x",
  "a negative limit": "limit=-1&labelSelector=none%3Dsuch",
  "a limit of 0": "limit=0&labelSelector=none%3Dsuch",
  "a limit with a fraction": "limit=1.5",
  "a continue that is none": "continue=x",
  "a continue of nothing": `continue=${Buffer.from("{}").toString("base64url")}`,
  "a continue elsewhere": `continue=${Buffer.from('{"v":"meta.k8s.io/v1","rv":1,"start":"../x"}').toString("base64url")}`,
  "a continue of another version": `continue=${Buffer.from('{"v":"meta.k8s.io/v9","rv":1,"start":"x"}').toString("base64url")}`,
  "a continue and a version": "continue=x&resourceVersion=5",
  "an invalid version": "resourceVersion=x",
  "a match without version": "resourceVersionMatch=Exact",
  "an unknown match": "resourceVersion=1&resourceVersionMatch=Nearly",
  "an exact match of version 0": "resourceVersion=0&resourceVersionMatch=Exact",
  "a match and a continue": "resourceVersionMatch=Exact&resourceVersion=1&continue=x",
  "version 0, or newer": "resourceVersion=0&resourceVersionMatch=NotOlderThan&labelSelector=none%3Dsuch",
  "a bad label selector": "labelSelector=%21%21",
  "an open label selector": "labelSelector=a%20in%20(",
  "a bad key in a label selector": "labelSelector=a%2Fb%2Fc",
  "a bad value in a label selector": "labelSelector=a%3Db%20c",
  "an unknown operator in a label selector": "labelSelector=a%20like%20b",
  "a label selector of nothing": "labelSelector=none%3Dsuch",
  "an unknown field": "fieldSelector=spec.none%3D1",
  "a field selector without operator": "fieldSelector=metadata.name",
  "a field selector of nothing": "fieldSelector=metadata.name%3Dnone",
  "a field selector of the namespace": "fieldSelector=metadata.namespace%3Dnone",
  "a watch that is none": "watch=perhaps&labelSelector=none%3Dsuch",
  "a watch from an invalid version": "watch=true&resourceVersion=x",
  "a watch with a bad label selector": "watch=true&labelSelector=%21%21",
  "a watch with an unknown field": "watch=true&fieldSelector=spec.none%3D1",
  "a watch with a timeout that is none": "watch=true&timeoutSeconds=x",
  "a watch with a limit that is none": "watch=true&limit=x",
  "a timeout that is none": "timeoutSeconds=x&labelSelector=none%3Dsuch",
  "bookmarks that are none": "allowWatchBookmarks=perhaps&labelSelector=none%3Dsuch",
  "includeObject that is none": "includeObject=All&labelSelector=none%3Dsuch",
};

/** Reading one of a kind, or many. */
export const reads: RowsOf<Kind> = (kind) => {
  const { plural, at, make } = kind;
  const all = thorough.has(plural);
  const given = [send("POST", at(), make("r-{row}", { metadata: { labels: { read: "{row}" } } }))];
  const one = `${at()}/r-{row}`;
  const mine = `${at()}?labelSelector=read%3D{row}`;
  return [
    { id: `${plural}: get`, given, ask: { path: one } },
    { id: `${plural}: get one that is missing`, ask: { path: `${at()}/r-{row}` } },
    { id: `${plural}: get the head`, given, ask: { method: "HEAD", path: one } },
    { id: `${plural}: list`, given, ask: { path: mine } },
    { id: `${plural}: list the head`, given, ask: { method: "HEAD", path: mine } },
    ...(all ? Object.entries(accepts) : []).flatMap(([id, accept]) => [
      { id: `${plural}: get ${id}`, given, ask: { path: one, accept } },
      { id: `${plural}: list ${id}`, given, ask: { path: mine, accept } },
    ]),
    ...Object.entries(getQueries).map(([id, query]) => ({
      id: `${plural}: get with ${id}`,
      given,
      ask: { path: `${one}?${query}` },
    })),
    ...(all ? Object.entries(listQueries) : []).map(([id, query]) => ({
      id: `${plural}: list with ${id}`,
      ask: { path: `${at()}?${query}` },
    })),
    ...(kind.namespaced
      ? [
          { id: `${plural}: list a namespace that is missing`, ask: { path: at("missing") } },
          { id: `${plural}: list a namespace that is no name`, ask: { path: at("Bad_Name") } },
        ]
      : []),
  ];
};

/** Subresources and methods that a kind may lack. */
export const oddities: RowsOf<Kind> = (kind) => {
  const { plural, at, make } = kind;
  const given = [send("POST", at(), make("o-{row}"))];
  const one = `${at()}/o-{row}`;
  const ask = (id: string, method: string, path: string, body?: object | string) => ({
    id: `${plural}: ${id}`,
    given,
    ask: {
      method,
      path,
      ...(body === undefined ? {} : { body }),
      ...(method === "PATCH" ? { type: "application/merge-patch+json" } : {}),
    },
  });
  return [
    ask("create at a name", "POST", one, make("o-{row}")),
    ask("an unknown method", "LOOK", one),
    ask("an unknown method, on all", "LOOK", at()),
    ask("get an unknown subresource", "GET", `${one}/none`),
    ask("replace an unknown subresource", "PUT", `${one}/none`, make("o-{row}")),
    ask("get below a subresource", "GET", `${one}/status/none`),
    ask("get the status", "GET", `${one}/status`),
    ask("replace the status", "PUT", `${one}/status`, make("o-{row}")),
    ask("replace the status of another", "PUT", `${one}/status`, make("o-other")),
    ask("merge into the status", "PATCH", `${one}/status`, "{}"),
    ask("create the status", "POST", `${one}/status`, make("o-{row}")),
    ask("delete the status", "DELETE", `${one}/status`),
    ask("get the scale", "GET", `${one}/scale`),
    ask("get with a slash at the end", "GET", `${one}/`),
    ask("list with a slash at the end", "GET", `${at()}/?labelSelector=none%3Dsuch`),
  ];
};
