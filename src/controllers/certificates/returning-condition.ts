/** The condition of a certificate request that says what a machine that comes back waits for. */
export const returningCondition = "Returning";
