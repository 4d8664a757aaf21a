import type { Attributes } from "../../authorization/authorizer.ts";

/** A request in the words of kubectl: `patch pods/status web -n default`, or a verb and a path. */
export function requestText(asked: Omit<Attributes, "user" | "version">): string {
  const { verb, path, group, resource, subresource, name, namespace, fieldSelector = [] } = asked;
  if (path !== undefined) return `${verb} ${path}`;
  const kind = `${resource}${group === "" ? "" : `.${group}`}${subresource === "" ? "" : `/${subresource}`}`;
  const fields = fieldSelector.map(({ key, values }) => ` --field-selector ${key}=${values.join(",")}`).join("");
  return `${verb} ${kind}${name === "" ? "" : ` ${name}`}${namespace === "" ? "" : ` -n ${namespace}`}${fields}`;
}
