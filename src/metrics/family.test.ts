import { expect, test } from "vitest";
import { summary } from "./family.ts";

const family = { name: "took_seconds", help: "How long." };
const labels = 'type="admit"';

function lines(text: string): readonly string[] {
  return text.trim().split("\n").slice(2);
}

test("quantiles are those of the newest values, sum and count those of all", () => {
  const took = summary(family, () => 0);
  expect(took.text()).toBe("# HELP took_seconds How long.\n# TYPE took_seconds summary\n");
  for (let value = 2000; value >= 1; value -= 1) took.observe(labels, value);
  // The last 1024 are 1 to 1024.
  expect(lines(took.text())).toEqual([
    `took_seconds{${labels},quantile="0.5"} 512`,
    `took_seconds{${labels},quantile="0.9"} 922`,
    `took_seconds{${labels},quantile="0.99"} 1014`,
    `took_seconds_sum{${labels}} ${(2000 * 2001) / 2}`,
    `took_seconds_count{${labels}} 2000`,
  ]);
});

test("values of more than five hours ago count in sum and count alone", () => {
  let now = 0;
  const took = summary(family, () => now);
  took.observe(labels, 9);
  now = 5 * 3600 * 1000;
  took.observe(labels, 1);
  expect(lines(took.text())[2]).toBe(`took_seconds{${labels},quantile="0.99"} 9`);
  now += 1;
  expect(lines(took.text())[2]).toBe(`took_seconds{${labels},quantile="0.99"} 1`);
  now *= 2;
  expect(lines(took.text())).toEqual([
    `took_seconds{${labels},quantile="0.5"} NaN`,
    `took_seconds{${labels},quantile="0.9"} NaN`,
    `took_seconds{${labels},quantile="0.99"} NaN`,
    `took_seconds_sum{${labels}} 10`,
    `took_seconds_count{${labels}} 2`,
  ]);
});
