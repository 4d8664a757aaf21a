import type { Attributes } from "../authorization/authorizer.ts";
import { fieldSelectorText, labelSelectorText } from "../authorization/selector-attributes.ts";
import { parseFieldSelector, selectedName } from "../apimachinery/field-selector.ts";
import { SelectorError } from "../apimachinery/selector-error.ts";
import type { UserInfo } from "../apimachinery/user.ts";
import { flag, type Query } from "./http-types.ts";
import { requestInfo, type RequestInfo } from "./request-info.ts";

const selectingVerbs: ReadonlySet<string> = new Set(["list", "watch", "deletecollection"]);

/** What a method, a path and a query ask for; undefined when the path is not valid percent-encoding. */
export function requestInfoOf(method: string, path: string, query: Query): RequestInfo | undefined {
  return requestInfo(method, path, { watch: flag(query, "watch"), nameSelector: nameSelector(query) });
}

function nameSelector(query: Query): string | undefined {
  const selector = query.get("fieldSelector");
  if (selector === null || selector === "") return undefined;
  try {
    return selectedName(parseFieldSelector(selector));
  } catch (error) {
    // The handler refuses it in full; authorization then decides as if there were no selector.
    if (error instanceof SelectorError) return undefined;
    throw error;
  }
}

/** Attributes of a request for the authorizers; selectors as far as they can be read, what is wrong with them is told by whoever handles it. */
export function requestAttributes(info: RequestInfo, user: UserInfo, query: Query): Attributes {
  const { verb, group, version, resource, subresource, namespace, name, isResource } = info;
  const path = isResource ? undefined : info.path;
  const plain = { user, verb, group, version, resource, subresource, namespace, name, path };
  return isResource && selectingVerbs.has(verb) ? { ...plain, ...selectorsOf(query) } : plain;
}

function selectorsOf(query: Query): Pick<Attributes, "fieldSelector" | "labelSelector"> {
  const field = fieldSelectorText(query.get("fieldSelector") ?? "").requirements;
  const label = labelSelectorText(query.get("labelSelector") ?? "").requirements;
  return {
    ...(field.length === 0 ? {} : { fieldSelector: field }),
    ...(label.length === 0 ? {} : { labelSelector: label }),
  };
}
