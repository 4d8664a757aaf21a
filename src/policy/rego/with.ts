import type { Term, With } from "./ast.ts";
import type { CalleeOf } from "./callee.ts";
import type { Branching, Overlay, Det, Frame, Mock, State } from "./documents.ts";
import { RegoError, type RegoPlace } from "./rego-error.ts";
import { termValue, type Unit } from "./terms.ts";
import { keyOf, objectOf, isKind, type RegoEntry, type RegoValue } from "./values.ts";

type Replace = (state: State, value: RegoValue) => State;

/** What an evaluation knows after values of `with` took their places; undefined when one has no value. @throws RegoError for what cannot be replaced */
export function replacing(
  replaced: readonly With[],
  context: { readonly unit: Unit; readonly callee: CalleeOf },
): (frame: Frame) => State | undefined {
  const steps = replaced.map((each) => step(each, context));
  return (frame) => {
    let state: State | undefined = { ...frame.state, cache: new Map() };
    for (const apply of steps) {
      if (state === undefined) return undefined;
      state = apply(frame, state);
    }
    return state;
  };
}

type Step = (frame: Frame, state: State) => State | undefined;

function step({ target, value }: With, context: { readonly unit: Unit; readonly callee: CalleeOf }): Step {
  const { callee } = context;
  const name = functionNameOf(target);
  if (name !== undefined && callee.knows(name)) {
    const other = functionNameOf(value);
    const mock =
      other !== undefined && callee.knows(other)
        ? callee({ name: other, args: [], at: value.at, isMock: true }).one
        : undefined;
    return mock === undefined
      ? valued(termValue(value, context.unit), (state, given) => mocked(state, name.join("."), { value: given }))
      : (_frame, state) => mocked(state, name.join("."), { call: mock });
  }
  if (target.kind !== "ref" || target.head.kind !== "var" || !["input", "data"].includes(target.head.name)) {
    const text = "with keyword target must reference existing input, data, or a function";
    throw new RegoError("rego_type_error", text, target.at);
  }
  const path = target.path.map((part): RegoValue => {
    if (part.kind !== "scalar") throw new RegoError("rego_type_error", "with keyword target must be ground", part.at);
    return part.value;
  });
  if (target.head.name === "data") refusePart(path, context.unit.rules, target.at);
  return valued(
    termValue(value, context.unit),
    target.head.name === "input"
      ? (state, given) => ({ ...state, input: withMember(state.input, path, given) })
      : (state, given) => ({ ...state, overlay: withOverlay(state.overlay, path, given) }),
  );
}

/** What rules make is replaced as a whole or not at all. */
function refusePart(path: readonly RegoValue[], rules: Branching, at: RegoPlace): void {
  let branch: Branching | undefined = rules;
  for (const part of path) {
    if (branch?.group !== undefined)
      throw new RegoError("rego_compile_error", "with keyword cannot partially replace virtual document(s)", at);
    branch = typeof part === "string" ? branch?.children.get(part) : undefined;
  }
}

function valued(value: Det, replace: Replace): Step {
  return (frame, state) => {
    const given = value(frame);
    return given === undefined ? undefined : replace(state, given);
  };
}

/** The name that a term would have as a function. */
function functionNameOf(term: Term): readonly string[] | undefined {
  if (term.kind === "call") return term.args.length === 0 ? (term.name[0] ?? "").split(".") : undefined;
  if (term.kind !== "ref" || term.head.kind !== "var" || term.head.name !== "data") return undefined;
  const parts = term.path.map((part) => (part.kind === "scalar" && typeof part.value === "string" ? part.value : ""));
  return parts.includes("") ? undefined : ["data", ...parts];
}

function mocked(state: State, name: string, mock: Mock): State {
  return { ...state, mocks: new Map(state.mocks).set(name, mock) };
}

function withMember(target: RegoValue | undefined, path: readonly RegoValue[], value: RegoValue): RegoValue {
  const [first, ...rest] = path;
  if (first === undefined) return value;
  const entries = new Map(isKind(target, "object") ? target.entries : []);
  const inner = entries.get(keyOf(first))?.[1];
  const entry: RegoEntry = [first, withMember(inner, rest, value)];
  entries.set(keyOf(first), entry);
  return objectOf(entries.values());
}

function withOverlay(overlay: Overlay | undefined, path: readonly RegoValue[], value: RegoValue): Overlay {
  const [first, ...rest] = path;
  if (first === undefined) return { value, children: new Map() };
  if (overlay?.value !== undefined) return { value: withMember(overlay.value, path, value), children: new Map() };
  const children = new Map(overlay?.children);
  const name = typeof first === "string" ? first : "";
  return { value: undefined, children: children.set(name, withOverlay(children.get(name), rest, value)) };
}
