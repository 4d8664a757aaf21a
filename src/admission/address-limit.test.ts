import { expect, it } from "vitest";
import { addressLimit, placeOf } from "./address-limit.ts";

function limit(options: { readonly perAddress?: number; readonly inAll?: number } = {}): {
  readonly take: (address: string) => boolean;
  readonly pass: (ms: number) => void;
} {
  let now = 0;
  return {
    take: addressLimit({ perAddress: 2, inAll: 100, now: () => now, ...options }),
    pass: (ms) => (now += ms),
  };
}

const taken = (take: (address: string) => boolean, ...addresses: readonly string[]): readonly boolean[] =>
  addresses.map(take);

it("gives each address its own places, which come back evenly", () => {
  const { take, pass } = limit();
  expect(taken(take, "192.0.2.1", "192.0.2.1", "192.0.2.1", "192.0.2.2")).toEqual([true, true, false, true]);
  pass(29_000);
  expect(take("192.0.2.1")).toBe(false);
  pass(1000);
  expect(taken(take, "192.0.2.1", "192.0.2.1")).toEqual([true, false]);
});

it("never gives more than a minute's places at once, and none for time that goes backwards", () => {
  const { take, pass } = limit();
  pass(3_600_000);
  expect(taken(take, "192.0.2.1", "192.0.2.1", "192.0.2.1")).toEqual([true, true, false]);
  pass(-3_600_000);
  expect(take("192.0.2.1")).toBe(false);
});

it("counts an IPv6 network of 64 bits as one, and an IPv4 address alone", () => {
  const { take } = limit();
  expect(taken(take, "2001:db8::1", "2001:db8::2", "2001:db8:0:0:ffff::3")).toEqual([true, true, false]);
  expect(take("2001:db8:0:1::1")).toBe(true);
  expect(placeOf("192.0.2.1")).not.toBe(placeOf("192.0.2.2"));
});

it("takes nothing of the places of all from whoever is over its own", () => {
  const { take } = limit({ inAll: 3 });
  for (let index = 0; index < 50; index += 1) take("192.0.2.1");
  expect(taken(take, "192.0.2.2", "192.0.2.3")).toEqual([true, false]);
});

it("remembers a bounded number of addresses, the latest", () => {
  const { take } = limit({ inAll: 1e9 });
  taken(take, "192.0.2.1", "192.0.2.1");
  for (let index = 0; index < 10_000; index += 1) take(`10.${index >> 16}.${(index >> 8) & 255}.${index & 255}`);
  // Forgotten, which only gives its places back.
  expect(take("192.0.2.1")).toBe(true);
});
