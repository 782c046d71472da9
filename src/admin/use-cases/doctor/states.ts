/** The states that a check can report, the most urgent first, and their meanings. */
export const CHECK_STATES = {
  problem: 'Something does not work, is lost or can be read by others. Correct it.',
  warning: 'It works, but may soon fail or is unusual. Decide whether you want it so.',
  not_checked: 'The check was not made, and the finding says why.',
  ok: 'Nothing is wrong.',
} as const;
export type CheckState = keyof typeof CHECK_STATES;

export const CHECK_STATE_NAMES = Object.keys(CHECK_STATES) as readonly CheckState[];
