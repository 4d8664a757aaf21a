import { expect, test } from "vitest";
import { onFreePorts, PortTakenError } from "./peers-kube.ts";

test("a control plane whose port is taken starts again", async () => {
  let starts = 0;
  const started = onFreePorts(async () => {
    starts += 1;
    if (starts < 3) throw new PortTakenError("address already in use");
    return Promise.resolve(`start ${starts}`);
  });
  expect(await started).toBe("start 3");
});

test("it starts no more than four times", async () => {
  let starts = 0;
  const start = async (): Promise<never> => {
    starts += 1;
    return Promise.reject(new PortTakenError(`start ${starts}`));
  };
  await expect(onFreePorts(start)).rejects.toThrow("start 4");
  expect(starts).toBe(4);
});

test("any other error ends the first start", async () => {
  let starts = 0;
  const start = async (): Promise<never> => {
    starts += 1;
    return Promise.reject(new TypeError("unrecognized feature gate"));
  };
  await expect(onFreePorts(start)).rejects.toThrow("unrecognized feature gate");
  expect(starts).toBe(1);
});
