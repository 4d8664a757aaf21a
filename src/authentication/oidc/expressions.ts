import { CelError } from "../../policy/cel/cel-error.ts";
import { boolType, dynType, listType, mapType, objectType, stringType, type CelType } from "../../policy/cel/types.ts";
import { celToJson } from "../../policy/cel/convert.ts";
import { compileKubernetesCel } from "../../policy/kubernetes/compile-kubernetes-cel.ts";

/** The purpose of an expression: which variable it has, and which types its result may have. */
export type ExpressionPlace = "username" | "groups" | "uid" | "extra" | "claimRule" | "userRule";

/** The cost budget that is left for the expressions over one token, in the units of Kubernetes. */
export interface TokenMeter {
  left: number;
}

/** A compiled expression: maps its one variable to a plain value, or to the reason why there is none. */
export type Expression = (value: object, meter: TokenMeter) => { readonly value: unknown } | { readonly error: string };

/**
 * The cost that evaluating all expressions over one token may reach. Kubernetes has it for each expression: apiserver
 * pkg/authentication/cel, PerCallLimit. Here all share one limit.
 */
export function newTokenMeter(): TokenMeter {
  return { left: 1_000_000 };
}

const user = objectType("kubernetes.UserInfo", {
  username: stringType,
  uid: stringType,
  groups: listType(stringType),
  extra: mapType(stringType, listType(stringType)),
});
const claims = mapType(stringType, dynType);

const text: readonly CelType["kind"][] = ["string", "dyn"];
const texts: readonly CelType["kind"][] = ["string", "list", "dyn"];

const places: Readonly<
  Record<ExpressionPlace, { readonly variable: "claims" | "user"; readonly results: readonly CelType["kind"][] }>
> = {
  username: { variable: "claims", results: text },
  groups: { variable: "claims", results: texts },
  uid: { variable: "claims", results: text },
  extra: { variable: "claims", results: texts },
  claimRule: { variable: "claims", results: [boolType.kind] },
  userRule: { variable: "user", results: [boolType.kind] },
};

/** Compiles an expression of an AuthenticationConfiguration. @throws CelError for one that cannot be used in that place. */
export function compileExpression(source: string, place: ExpressionPlace): Expression {
  const { variable, results } = places[place];
  const program = compileKubernetesCel(source, { [variable]: variable === "claims" ? claims : user });
  if (!results.includes(program.type.kind)) {
    const allowed = results.filter((kind) => kind !== "dyn").join(" or ");
    throw new CelError("type", `must evaluate to ${allowed}`);
  }
  return (value, meter) => {
    const result = program.evaluate({ [variable]: value }, { budget: Math.max(0, meter.left) });
    meter.left -= result.cost;
    return "error" in result ? { error: result.error } : { value: celToJson(result.value) };
  };
}
