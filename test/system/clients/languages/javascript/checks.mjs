/** The parts that the programs of all JavaScript clients share: the servers' addresses and keys, and the line for each check. */
const { env } = process;
export const URL = env.SIGNALBOX_URL;
export const KEY = env.SIGNALBOX_KEY;
export const UNCOUNTED_KEY = env.UNCOUNTED_KEY;
export const EMPTY_KEY = env.EMPTY_KEY;
export const FAULTY_URL = env.FAULTY_URL;
export const FAULTY_KEY = env.FAULTY_KEY;

/** Runs a check, and prints its line. The function returns the usage of its calls with KEY, or nothing. */
export async function check(name, run) {
  try {
    const usage = (await run()) ?? [];
    console.log(`\n${JSON.stringify({ check: name, usage })}`);
  } catch (error) {
    process.exitCode = 1;
    console.error(`${name}:`, error);
  }
}

export function expect(holds, ...what) {
  if (!holds) throw new Error(what.map((one) => JSON.stringify(one)).join(' '));
}

/** The error with which a call must fail. */
export async function failureOf(call) {
  try {
    await call();
  } catch (error) {
    return error;
  }
  throw new Error('the call did not fail');
}
