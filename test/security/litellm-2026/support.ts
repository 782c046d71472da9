import fc from 'fast-check';
import { TOY } from '../../support/policies.ts';

/**
 * Vulnerabilities of LiteLLM that were published in 2026, tried on a running Signalbox. Each law also runs on a small program that has the
 * vulnerability, and must find it there.
 */
export const POLICY = `${TOY}gateway: { failed_auth_per_minute: 1000000, keyless_per_minute: 1000000 }\n`;
export const QUESTION = { model: 'toy', messages: [{ role: 'user', content: 'Hello?' }] };
export const JSON_TYPE = { 'content-type': 'application/json' };

/** Whether all runs of a law succeed. */
export const holds = async <T>(
  values: fc.Arbitrary<T>,
  law: (value: T) => Promise<boolean>,
  { runs, seed }: { readonly runs: number; readonly seed: number },
): Promise<boolean> => !(await fc.check(fc.asyncProperty(values, law), { numRuns: runs, seed })).failed;
