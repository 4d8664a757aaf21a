/** Permission bits as `ls` and `chmod` have them. */
export function octal(mode: number): string {
  return (mode & 0o777).toString(8).padStart(4, "0");
}
