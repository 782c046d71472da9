import { type Static, Type } from '@sinclair/typebox';
import { SchemaCheck } from '../../core/schema/check.ts';

/** The messages between a parent and its processes. */

const ToParent = Type.Union([
  /** All slots for servers at the database are taken, and this process waits for one. */
  Type.Object({ kind: Type.Literal('waiting') }),
  /** This process serves at the address. */
  Type.Object({ kind: Type.Literal('serving'), address: Type.String() }),
  /** The metrics page that the parent requested. */
  Type.Object({ kind: Type.Literal('metrics'), id: Type.Integer(), page: Type.String() }),
]);
export type MessageToParent = Static<typeof ToParent>;

const ToChild = Type.Union([
  /** Tells the process to make clients move to the other processes, and then to stop. */
  Type.Object({ kind: Type.Literal('leave') }),
  /** Stop, as after SIGTERM. */
  Type.Object({ kind: Type.Literal('stop') }),
  /** End at once, as after a second signal. */
  Type.Object({ kind: Type.Literal('end') }),
  Type.Object({ kind: Type.Literal('reload') }),
  Type.Object({ kind: Type.Literal('metrics'), id: Type.Integer() }),
]);
export type MessageToChild = Static<typeof ToChild>;

const toParent = new SchemaCheck(ToParent);
const toChild = new SchemaCheck(ToChild);

export const messageToParent = (value: unknown): MessageToParent | null => (toParent.accepts(value) ? value : null);
export const messageToChild = (value: unknown): MessageToChild | null => (toChild.accepts(value) ? value : null);
