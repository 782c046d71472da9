import { SUBJECT_OPERATIONS, type SubjectServices } from '../subjects.ts';
import type { SubjectSource } from '../use-cases/subjects.ts';
import { groupOf } from './arguments.ts';
import { commandsOf, NO_WORTH } from './operations.ts';

/** Runs `signalbox subjects …`. Returns the text to print. Throws UsageError. */
export const runSubjects = groupOf(
  'subjects',
  commandsOf<SubjectServices, SubjectSource>(SUBJECT_OPERATIONS, (source) => ({ subjects: () => source, ...NO_WORTH })),
);
