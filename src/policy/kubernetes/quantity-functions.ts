import type { CelFunction, CelOverload } from "../cel/environment.ts";
import { boolType, doubleType, intType, stringType } from "../cel/types.ts";
import {
  celDouble,
  celFailure,
  celInt,
  type CelFailure,
  type CelInt,
  type CelOpaque,
  type CelValue,
} from "../cel/values.ts";
import { libraryType } from "./library-type.ts";
import {
  addQuantities,
  compareQuantities,
  parseQuantity,
  quantityFloat,
  quantityInteger,
  quantityOf,
  quantitySign,
  subtractQuantities,
  type Quantity,
} from "./quantity.ts";
import { textCost } from "./text-cost.ts";

const quantity = libraryType<Quantity>("kubernetes.Quantity", (one, other) => compareQuantities(one, other) === 0);

/** Quantities: `quantity('1.5Gi')` and what can be asked of one. Source: apiserver cel/library quantity. */
export const quantityFunctions: readonly CelFunction[] = [
  {
    name: "quantity",
    overloads: [
      {
        args: [stringType],
        result: quantity.type,
        cost: textCost,
        apply: (text: string) => {
          const parsed = parseQuantity(text);
          return "problem" in parsed ? celFailure(parsed.problem) : quantity.wrap(parsed.quantity);
        },
      },
    ],
  },
  {
    name: "isQuantity",
    overloads: [
      {
        args: [stringType],
        result: boolType,
        cost: textCost,
        apply: (text: string) => "quantity" in parseQuantity(text),
      },
    ],
  },
  { name: "sign", member: true, overloads: [asked(intType, quantitySign)] },
  { name: "isInteger", member: true, overloads: [asked(boolType, (one) => quantityInteger(one) !== undefined)] },
  { name: "asInteger", member: true, overloads: [asked(intType, asInteger)] },
  {
    name: "asApproximateFloat",
    member: true,
    overloads: [asked(doubleType, (one) => celDouble(quantityFloat(one)))],
  },
  { name: "add", member: true, overloads: combined(addQuantities) },
  { name: "sub", member: true, overloads: combined(subtractQuantities) },
  { name: "isGreaterThan", member: true, overloads: [compared(boolType, (order) => order > 0)] },
  { name: "isLessThan", member: true, overloads: [compared(boolType, (order) => order < 0)] },
  { name: "compareTo", member: true, overloads: [compared(intType, (order) => order)] },
];

function asked(result: CelOverload["result"], answer: (one: Quantity) => CelValue | CelFailure): CelOverload {
  return { args: [quantity.type], result, apply: (one: CelOpaque) => answer(quantity.unwrap(one)) };
}

function compared(result: CelOverload["result"], answer: (order: -1 | 0 | 1) => CelValue): CelOverload {
  return {
    args: [quantity.type, quantity.type],
    result,
    apply: (one: CelOpaque, other: CelOpaque) =>
      answer(compareQuantities(quantity.unwrap(one), quantity.unwrap(other))),
  };
}

function combined(combine: (one: Quantity, other: Quantity) => Quantity): readonly CelOverload[] {
  const result = quantity.type;
  return [
    {
      args: [quantity.type, quantity.type],
      result,
      apply: (one: CelOpaque, other: CelOpaque) => quantity.wrap(combine(quantity.unwrap(one), quantity.unwrap(other))),
    },
    {
      args: [quantity.type, intType],
      result,
      apply: (one: CelOpaque, other: CelInt) => quantity.wrap(combine(quantity.unwrap(one), quantityOf(BigInt(other)))),
    },
  ];
}

function asInteger(one: Quantity): CelValue | CelFailure {
  const whole = quantityInteger(one);
  return whole === undefined ? celFailure("cannot convert value to integer") : celInt(whole);
}
