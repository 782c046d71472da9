import { type Static, Type } from '@sinclair/typebox';
import { SchemaCheck } from '../../core/schema-check.ts';

/** What a parent and its processes say to each other. */

const ToParent = Type.Union([
  /** All places for servers at the database are taken, and the process waits for one. */
  Type.Object({ kind: Type.Literal('waiting') }),
  /** The process serves. */
  Type.Object({ kind: Type.Literal('serving'), address: Type.String() }),
  /** The page of metrics that was asked for. */
  Type.Object({ kind: Type.Literal('metrics'), id: Type.Integer(), page: Type.String() }),
]);
export type MessageToParent = Static<typeof ToParent>;

const ToChild = Type.Union([
  /** Have callers find the other processes, then stop. */
  Type.Object({ kind: Type.Literal('leave') }),
  /** Stop as SIGTERM asks. */
  Type.Object({ kind: Type.Literal('stop') }),
  /** End as its second signal asks. */
  Type.Object({ kind: Type.Literal('end') }),
  Type.Object({ kind: Type.Literal('reload') }),
  Type.Object({ kind: Type.Literal('metrics'), id: Type.Integer() }),
]);
export type MessageToChild = Static<typeof ToChild>;

const toParent = new SchemaCheck(ToParent);
const toChild = new SchemaCheck(ToChild);

export const messageToParent = (value: unknown): MessageToParent | null => (toParent.accepts(value) ? value : null);
export const messageToChild = (value: unknown): MessageToChild | null => (toChild.accepts(value) ? value : null);
