/** Cuts a byte stream into lines; holds at most `maxBytes` of an unfinished one. */
export interface LineCutter {
  /** The lines that `chunk` completes, without their newline and without blank ones; undefined when a line is too long. */
  push(chunk: Buffer): readonly Buffer[] | undefined;
  /** What stands after the last newline. */
  rest(): Buffer;
}

/** A cutter for streams of JSON objects, one on each line, as a Kubernetes watch sends them. */
export function lineCutter(maxBytes: number): LineCutter {
  let held: Buffer[] = [];
  let heldBytes = 0;

  function push(chunk: Buffer): readonly Buffer[] | undefined {
    const lines: Buffer[] = [];
    let start = 0;
    for (let end = chunk.indexOf(10); end !== -1; end = chunk.indexOf(10, start)) {
      const tail = chunk.subarray(start, end);
      if (heldBytes + tail.length > maxBytes) return undefined;
      const line = heldBytes === 0 ? tail : Buffer.concat([...held, tail]);
      held = [];
      heldBytes = 0;
      start = end + 1;
      if (line.length > 0 && !(line.length === 1 && line[0] === 13)) lines.push(line);
    }
    if (start < chunk.length) {
      held.push(chunk.subarray(start));
      heldBytes += chunk.length - start;
    }
    return heldBytes > maxBytes ? undefined : lines;
  }

  return { push, rest: () => Buffer.concat(held) };
}
