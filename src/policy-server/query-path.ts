import { OptionError } from "../apimachinery/option-error.ts";

/** The parts of a place under `data`, written as `data.k8s.allow` or, as entry points of bundles are, `k8s/allow`. @throws OptionError usage */
export function queryPath(query: string): readonly string[] {
  const parts = query.includes("/") ? query.split("/") : query.startsWith("data.") ? query.split(".").slice(1) : [];
  if (parts.length === 0 || parts.some((part) => !/^[A-Za-z_][\w-]*$/.test(part)))
    throw new OptionError("usage", `--query ${query}: names joined by dots below data, such as data.k8s.allow`);
  return parts;
}
