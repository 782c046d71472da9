import { afterAll, beforeAll, test } from 'bun:test';
import { ENDINGS, expectDropped } from '../../support/kept-conversations.ts';
import type { Signalbox } from '../../support/signalbox.ts';
import { type Stage, startStage } from './stage.ts';

/** Two servers sharing one PostgreSQL database: the operator uses one of them, and the caller uses the other one. */
let stage: Stage;
let here: Signalbox;
let there: Signalbox;
beforeAll(async () => {
  stage = await startStage(0);
  here = await stage.fleet.start();
  there = await stage.fleet.start();
});
afterAll(() => stage[Symbol.asyncDispose]());

for (const ending of ENDINGS) {
  test(`after ${ending} at one server, the other server has no conversation in memory, and a request in progress leaves none`, () =>
    expectDropped(ending, here, there, 'best'));
}
