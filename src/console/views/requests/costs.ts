import { NONE, usd, type WrittenFigure } from '../../design/format.ts';
import { creditsText } from '../../design/written.tsx';

/** Writes Credits in USD, with the Credits for the pointer; as Credits alone where their worth is not known. */
export const costWriter =
  (usdPerCredit: string | null) =>
  (credits: number | null): WrittenFigure => {
    if (credits === null || !Number.isFinite(credits)) return NONE;
    const exact = `${credits} Credits`;
    if (usdPerCredit === null) return { short: creditsText(credits), exact };
    const amount = usd(credits * Number(usdPerCredit));
    return { ...amount, exact: `${amount.exact} · ${exact}` };
  };

export type CostWriter = ReturnType<typeof costWriter>;
