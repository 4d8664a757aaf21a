import { isDocument, dottedName, type Term, type With } from "./ast.ts";
import type { CalleeOf } from "./callee.ts";
import type { Branching, Overlay, Det, Frame, Mock, State } from "./documents.ts";
import { RegoError, type RegoPlace } from "./rego-error.ts";
import { termValue, type Unit } from "./terms.ts";
import { keyOf, objectOf, isKind, type RegoEntry, type RegoValue } from "./values.ts";

type Replace = (state: State, value: RegoValue) => State;

/** The state of an evaluation with the values of `with`; undefined when one has no value. @throws RegoError for an invalid target */
export function replacing(replaced: readonly With[], context: Compiling): (frame: Frame) => State | undefined {
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

interface Compiling {
  readonly unit: Unit;
  readonly callee: CalleeOf;
}

function step(replaced: With, context: Compiling): Step {
  const name = functionNameOf(replaced.target);
  return name !== undefined && context.callee.knows(name)
    ? functionStep(name.join("."), replaced.value, context)
    : documentStep(replaced, context.unit);
}

/** Replaces a function by a function or a value. */
function functionStep(name: string, value: Term, { unit, callee }: Compiling): Step {
  const other = functionNameOf(value);
  if (other === undefined || !callee.knows(other))
    return withValue(termValue(value, unit), (state, given) => withMock(state, name, { value: given }));
  const { one: call } = callee({ name: other, args: [], at: value.at, isMock: true });
  return (_frame, state) => withMock(state, name, { call });
}

/** Overlays a value on a part of `input` or `data`. */
function documentStep({ target, value }: With, unit: Unit): Step {
  if (target.kind !== "ref" || target.head.kind !== "var" || !isDocument(target.head.name)) {
    const text = "with keyword target must reference existing input, data, or a function";
    throw new RegoError("rego_type_error", text, target.at);
  }
  const path = target.path.map((part): RegoValue => {
    if (part.kind !== "scalar") throw new RegoError("rego_type_error", "with keyword target must be ground", part.at);
    return part.value;
  });
  const isData = target.head.name === "data";
  if (isData) refusePart(path, unit.rules, target.at);
  return withValue(termValue(value, unit), (state, given) =>
    isData
      ? { ...state, overlay: withOverlay(state.overlay, path, given) }
      : { ...state, input: withMember(state.input, path, given) },
  );
}

/** Values that rules define are replaced as a whole or not at all. */
function refusePart(path: readonly RegoValue[], rules: Branching, at: RegoPlace): void {
  let branch: Branching | undefined = rules;
  for (const part of path) {
    if (branch?.group !== undefined)
      throw new RegoError("rego_compile_error", "with keyword cannot partially replace virtual document(s)", at);
    branch = typeof part === "string" ? branch?.children.get(part) : undefined;
  }
}

function withValue(value: Det, replace: Replace): Step {
  return (frame, state) => {
    const given = value(frame);
    return given === undefined ? undefined : replace(state, given);
  };
}

/** The name of a term as a function. */
function functionNameOf(term: Term): readonly string[] | undefined {
  if (term.kind === "call") return term.args.length === 0 ? (term.name[0] ?? "").split(".") : undefined;
  const name = dottedName(term);
  return name?.[0] === "data" && !name.includes("") ? name : undefined;
}

function withMock(state: State, name: string, mock: Mock): State {
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
