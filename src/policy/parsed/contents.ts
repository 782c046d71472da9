import type { Static } from '@sinclair/typebox';
import type { ContentPolicy } from '../../core/policy/content.ts';
import type { PolicySnapshot } from '../../core/policy/snapshot.ts';
import type { Program } from '../cel/check.ts';
import { budgetViewOf, limitViewOf } from '../cel/types.ts';
import { type ExpressionDraft, expressionAt } from '../check/rule-drafts.ts';
import { type CheckContext, sectionSubject } from '../check/section-checks.ts';
import type { RecordsText } from '../schema/records.ts';

/** The content policy without its compiled `match`. */
export type ContentDraft = Omit<ContentPolicy, 'match'>;

/** Returns null if the policy stores no texts. */
export function draftContent({ content }: Static<typeof RecordsText>): ContentDraft | null {
  if (!content) return null;
  const { keep, redact, retention_days: days, readable_by: readers } = content;
  return {
    keepsPrompt: keep.includes('prompt'),
    keepsAnswer: keep.includes('answer'),
    redact,
    days,
    isOwnReadable: readers === 'own',
  };
}

/**
 * Returns the condition that selects the keys whose sessions and agents reports name. The condition is checked separately, so that other
 * errors do not hide its errors.
 */
export const reportedRunsMatch = (context: CheckContext): ExpressionDraft | null =>
  expressionAt(sectionSubject('records', context), 'reported_runs');

/**
 * Returns the condition that selects the requests whose texts are stored. The condition is checked separately, so that errors elsewhere in
 * the section do not hide its errors.
 */
export function contentMatch(context: CheckContext): ExpressionDraft | null {
  return expressionAt(sectionSubject('records', context), 'content', 'match');
}

export function compileContent(draft: ContentDraft | null, match: Program | null): ContentPolicy | null {
  return draft && { ...draft, match: match && ((scope) => match.run(budgetViewOf(scope))) };
}

export const compileReportedRuns = (match: Program | null): PolicySnapshot['reportedRuns'] =>
  match && ((scope) => match.run(limitViewOf(scope)));
