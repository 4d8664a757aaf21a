import type { ApiObject } from "../apimachinery/object.ts";
import { fieldListAt, fieldsAt, type Fields } from "./json-fields.ts";

const computeResources: readonly string[] = ["cpu", "memory"];

/** How a pod's requests and limits rank it when a node runs short. Source: pkg/apis/core/helper/qos. */
export function qosClassOf(pod: ApiObject): "Guaranteed" | "Burstable" | "BestEffort" {
  const containers = [...fieldListAt(pod, "spec", "containers"), ...fieldListAt(pod, "spec", "initContainers")];
  const requests = containers.map((container) => positive(fieldsAt(container, "resources", "requests")));
  const limits = containers.map((container) => positive(fieldsAt(container, "resources", "limits")));
  if ([...requests, ...limits].every((amounts) => amounts.size === 0)) return "BestEffort";
  const limited = limits.every((amounts) => computeResources.every((name) => amounts.has(name)));
  const equal = computeResources.every((name) => {
    const request = total(requests, name);
    return request === 0 || request === total(limits, name);
  });
  const requested = computeResources.every((name) => total(requests, name) > 0);
  return limited && equal && requested ? "Guaranteed" : "Burstable";
}

function positive(amounts: Fields): ReadonlyMap<string, number> {
  return new Map(
    computeResources.map((name) => [name, quantityValue(amounts[name])] as const).filter(([, amount]) => amount > 0),
  );
}

function total(all: readonly ReadonlyMap<string, number>[], name: string): number {
  return all.reduce((sum, amounts) => sum + (amounts.get(name) ?? 0), 0);
}

const suffixes: ReadonlyMap<string, number> = new Map([
  ["", 1],
  ["n", 1e-9],
  ["u", 1e-6],
  ["m", 1e-3],
  ["k", 1e3],
  ["M", 1e6],
  ["G", 1e9],
  ["T", 1e12],
  ["P", 1e15],
  ["E", 1e18],
  ["Ki", 2 ** 10],
  ["Mi", 2 ** 20],
  ["Gi", 2 ** 30],
  ["Ti", 2 ** 40],
  ["Pi", 2 ** 50],
  ["Ei", 2 ** 60],
]);

/** In thousandths, rounded, which is as fine as pods are accounted; 0 for what is no quantity. */
function quantityValue(value: unknown): number {
  const text = typeof value === "number" ? String(value) : typeof value === "string" ? value : "";
  const [, number = "", exponent = "", suffix = ""] =
    /^([0-9]{1,30}(?:\.[0-9]{0,30})?)(?:([eE][-+]?[0-9]{1,2})|([numkMGTPE]|[KMGTPE]i))?$/.exec(text) ?? [];
  return number === "" ? 0 : Math.round(Number(number + exponent) * (suffixes.get(suffix) ?? 1) * 1000);
}
