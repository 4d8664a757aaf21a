import type { UserInfo } from "../../apimachinery/user.ts";

/** The most that one text of an event takes as JSON, in bytes. */
export const maxTextBytes = 1024;
/** The most that all groups of a user, all its extra values, and all annotations of an event take as JSON, in bytes. */
const maxGroupsBytes = 16_384;
const maxExtraBytes = 8_192;
const maxAnnotationsBytes = 32_768;
const maxAnnotationBytes = 8_192;

/** What is left of a value in an event, and whether that is all of it. */
export interface Bounded<T> {
  readonly value: T;
  readonly isWhole: boolean;
}

/** The beginning of a text that takes at most so many bytes as JSON: what a client sends fills no log, whatever characters it is made of. */
export function boundedText(text: string, maxBytes: number): string {
  if (fits(text, maxBytes)) return text;
  let shown = text.slice(0, maxBytes);
  while (shown !== "" && Buffer.byteLength(JSON.stringify(shown)) > maxBytes) {
    shown = shown.slice(0, Math.floor(shown.length / 2));
  }
  return shown;
}

/**
 * A user as an event shows it: the first of the groups and extra values where there are many or long ones, since a token or impersonation
 * headers may hold 64 KiB of them. Fields that are absent stay absent.
 */
export function boundedUser({ username, uid, groups, extra }: UserInfo): Bounded<object> {
  const name = boundedText(username, maxTextBytes);
  const id = uid === undefined ? undefined : boundedText(uid, maxTextBytes);
  const shownGroups = boundedList(groups, maxGroupsBytes);
  const shownExtra = extra === undefined ? undefined : boundedExtra(extra);
  return {
    value: {
      username: name,
      ...(id === undefined ? {} : { uid: id }),
      groups: shownGroups.value,
      ...(shownExtra === undefined ? {} : { extra: shownExtra.value }),
    },
    isWhole: name === username && id === uid && shownGroups.isWhole && shownExtra?.isWhole !== false,
  };
}

/** Annotations of an event: the first of them where all take too much, and the beginning of one that is too long. */
export function boundedAnnotations(
  annotations: Readonly<Record<string, string>>,
): Bounded<Readonly<Record<string, string>>> {
  let [left, isWhole] = [maxAnnotationsBytes, true];
  const shown = Object.entries(annotations).flatMap(([key, text]): readonly (readonly [string, string])[] => {
    const value = boundedText(text, maxAnnotationBytes);
    const size = sizeOf(key) + sizeOf(value);
    if (value !== text || size > left) isWhole = false;
    if (size > left) return [];
    left -= size;
    return [[key, value]];
  });
  return { value: isWhole ? annotations : Object.fromEntries(shown), isWhole };
}

function boundedExtra(extra: NonNullable<UserInfo["extra"]>): Bounded<NonNullable<UserInfo["extra"]>> {
  let [left, isWhole] = [maxExtraBytes, true];
  const shown = Object.entries(extra).flatMap(([key, values]): readonly (readonly [string, readonly string[]])[] => {
    const size = sizeOf(key);
    const kept = boundedList(values, left - size);
    if (!kept.isWhole || size > left) isWhole = false;
    if (size > left || (kept.value.length === 0 && values.length > 0)) return [];
    left -= size + kept.value.reduce((sum, value) => sum + sizeOf(value), 0);
    return [[key, kept.value]];
  });
  return { value: isWhole ? extra : Object.fromEntries(shown), isWhole };
}

/** The first of the texts that fit; no text is shown in part, as the beginning of a group is the name of another one. */
function boundedList(texts: readonly string[], maxBytes: number): Bounded<readonly string[]> {
  let left = maxBytes;
  for (const [at, text] of texts.entries()) {
    left -= sizeOf(text);
    if (left < 0) return { value: texts.slice(0, at), isWhole: false };
  }
  return { value: texts, isWhole: true };
}

/** What a text takes as JSON, with the comma behind it. */
function sizeOf(text: string): number {
  return Buffer.byteLength(JSON.stringify(text)) + 1;
}

function fits(text: string, maxBytes: number): boolean {
  return text.length * maxEscapedBytes <= maxBytes || Buffer.byteLength(JSON.stringify(text)) <= maxBytes;
}

/** What one character takes at most: an escape such as \u0001. */
const maxEscapedBytes = 6;
