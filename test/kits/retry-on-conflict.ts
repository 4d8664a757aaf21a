/**
 * Attempts a write until no other writer was faster, like RetryOnConflict of client-go: gives the first reply that is not 409.
 * Each attempt reads the object anew.
 */
export async function retryOnConflict<Answer extends { readonly status: number }>(
  attempt: () => Promise<Answer>,
): Promise<Answer> {
  for (;;) {
    const answer = await attempt();
    if (answer.status !== 409) return answer;
  }
}
