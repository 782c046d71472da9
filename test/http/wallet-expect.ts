import { expect } from 'bun:test';
import type { TSchema } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import type { ErrorCode } from '../../src/core/errors.ts';
import { CONTRACT, expectError } from '../support/error-contract.ts';
import type { Reply } from './wallet-support.ts';

/** Expects that an answer matches its documented schema. */
export function expectForm(schema: TSchema, body: unknown): void {
  expect([...Value.Errors(schema, body)].map(({ path, message }) => `${path}: ${message}`)).toEqual([]);
}

/** Expects an error with this code and everything that belongs to it. */
export async function expectReply({ status, headers, text, body }: Reply, code: ErrorCode, retry = CONTRACT[code][3]) {
  const { param } = body.error as { param?: string | null };
  await expectError({ status, headers, body: text }, code, param ?? null, retry);
}
