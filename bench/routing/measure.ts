import { interval95, resamples } from './bootstrap.ts';
import { type Bin, binsOf, eceOf, squaredErrors, weightedMean } from './calibration.ts';
import type { Point } from './hull.ts';
import { PairCurve } from './pair.ts';
import { referencesOf, Sweep, singlesOf } from './sweep.ts';
import type { Trial } from './trials.ts';

/** The predictions of a router in each trial of a pool. */
export interface Prediction {
  readonly router: string;
  /** The number of outcomes that the router learned from; null if it does not learn. */
  readonly outcomes: number | null;
  /** Whether all requests have the same C_ref, instead of a C_ref according to the size of each request. */
  readonly isFixedReference: boolean;
  /** Whether predictions are shares of good answers, so that their error can be measured. */
  readonly isCalibrated: boolean;
  /** By trial: by row of its test, then by model. */
  readonly predicted: readonly Float64Array[];
}

/** A figure: its mean over the splits with their deviation, and the middle 95 % of bootstraps over rows, both paired. */
export interface Figure {
  readonly mean: number;
  readonly splits: number;
  readonly low: number;
  readonly high: number;
}

/** The results of a router on a pool. Differences are paired over the same rows. */
export interface Entry {
  readonly router: string;
  readonly outcomes: number | null;
  /** Null for more than two models. */
  readonly apgr: Figure | null;
  /** AIQ minus the AIQ of the hull. */
  readonly gain: Figure;
  /** The difference from the router by length, in the measure of the pool: APGR of a pair, otherwise AIQ. */
  readonly overLength: Figure;
  /** The difference from the n-gram classifier with as many outcomes; null if there is no such classifier. */
  readonly overNgrams: Figure | null;
  /** Shares of the best single model's cost; NaN if a split never reaches the quality. */
  readonly cost95: number;
  readonly cost99: number;
  readonly brier: number | null;
  /** The Brier score minus the Brier score of the constant. */
  readonly overConstant: Figure | null;
  readonly ece: number | null;
  readonly bins: readonly Bin[] | null;
  /** The hull of the first split; for a pair, the share of requests to the strong model with the quality that it recovers. */
  readonly hull: readonly Point[];
  readonly shares: readonly Point[] | null;
}

/** A prediction with its measures, by trial. */
interface Instrument {
  readonly prediction: Prediction;
  readonly curves: readonly PairCurve[] | null;
  readonly sweeps: readonly Sweep[];
  readonly errors: readonly Float64Array[];
}

/** The figures of an instrument under one weighting of rows. */
interface Measurement {
  readonly apgr: number;
  readonly gain: number;
  readonly brier: number;
}

export const LENGTH = 'length';
export const NGRAMS = 'n-grams';
export const CONSTANT = 'declared alone';

export function measure(
  trials: readonly Trial[],
  predictions: readonly Prediction[],
  times: number,
  seed: number,
): Entry[] {
  const instruments = predictions.map((prediction) => instrumentOf(trials, prediction));
  const n = trials[0]!.pool.test.rows.length;
  const whole = readings(trials, instruments, new Float64Array(n).fill(1));
  const bySplit = trials.map((_, split) => whole.map((ofSplits) => ofSplits[split]!));
  const drawn: Measurement[][] = [];
  for (const weights of resamples(n, times, seed)) drawn.push(readings(trials, instruments, weights).map(meanReading));
  const at = (router: string, outcomes: number | null) =>
    predictions.findIndex((one) => one.router === router && one.outcomes === outcomes && !one.isFixedReference);
  const figure = (of: (readings: readonly Measurement[]) => number): Figure => figureOf(bySplit, drawn, of);
  return instruments.map(({ prediction, curves, sweeps }, own) => {
    const { router, outcomes, isCalibrated } = prediction;
    const main = (reading: Measurement) => (curves ? reading.apgr : reading.gain);
    const over = (other: number) =>
      other < 0 ? null : figure((readings) => main(readings[own]!) - main(readings[other]!));
    const constant = at(CONSTANT, null);
    const routed = sweeps.map((sweep, split) => {
      const { test } = trials[split]!;
      const ones = new Float64Array(test.rows.length).fill(1);
      return sweep.routed(ones, singlesOf(test, ones));
    });
    const bins = isCalibrated ? allBins(trials, prediction) : null;
    const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;
    return {
      router: prediction.isFixedReference ? `${router}, one C_ref` : router,
      outcomes,
      apgr: curves && figure((readings) => readings[own]!.apgr),
      gain: figure((readings) => readings[own]!.gain),
      overLength: over(at(LENGTH, null))!,
      overNgrams: outcomes === null || router === NGRAMS ? null : over(at(NGRAMS, outcomes)),
      cost95: mean(routed.map(({ cost95 }) => cost95)),
      cost99: mean(routed.map(({ cost99 }) => cost99)),
      brier: isCalibrated ? mean(bySplit.map((readings) => readings[own]!.brier)) : null,
      overConstant: isCalibrated ? figure((readings) => readings[own]!.brier - readings[constant]!.brier) : null,
      ece: bins && eceOf(bins),
      bins,
      hull: routed[0]!.hull,
      shares: curves && curves[0]!.points(),
    };
  });
}

function instrumentOf(trials: readonly Trial[], prediction: Prediction): Instrument {
  const isPair = trials[0]!.pool.models.length === 2;
  const { predicted, isFixedReference } = prediction;
  return {
    prediction,
    curves: isPair ? trials.map(({ test }, at) => new PairCurve(gapsOf(predicted[at]!), test.labels)) : null,
    sweeps: trials.map(({ test }, at) => new Sweep(predicted[at]!, referencesOf(test, isFixedReference), test)),
    errors: trials.map(({ test }, at) => squaredErrors(predicted[at]!, test.labels, test.rows.length)),
  };
}

const gapsOf = (predicted: Float64Array): Float64Array =>
  Float64Array.from({ length: predicted.length / 2 }, (_, row) => predicted[2 * row + 1]! - predicted[2 * row]!);

/** Returns the figures by instrument, then by trial. `weights` are by row of the pool. */
function readings(
  trials: readonly Trial[],
  instruments: readonly Instrument[],
  weights: Float64Array,
): (readonly Measurement[])[] {
  const own = trials.map(({ testRows }) => {
    const picked = new Float64Array(testRows.length);
    for (let at = 0; at < picked.length; at++) picked[at] = weights[testRows[at]!]!;
    return picked;
  });
  const singles = trials.map(({ test }, at) => singlesOf(test, own[at]!));
  return instruments.map(({ curves, sweeps, errors }) =>
    own.map((ofTrial, at) => ({
      apgr: curves?.[at]?.apgr(ofTrial) ?? Number.NaN,
      gain: sweeps[at]!.gain(ofTrial, singles[at]!),
      brier: weightedMean(errors[at]!, ofTrial),
    })),
  );
}

function meanReading(all: readonly Measurement[]): Measurement {
  const mean = (of: (reading: Measurement) => number) => all.reduce((sum, one) => sum + of(one), 0) / all.length;
  return { apgr: mean(({ apgr }) => apgr), gain: mean(({ gain }) => gain), brier: mean(({ brier }) => brier) };
}

function figureOf(
  bySplit: readonly (readonly Measurement[])[],
  drawn: readonly (readonly Measurement[])[],
  of: (readings: readonly Measurement[]) => number,
): Figure {
  const values = bySplit.map(of);
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  const variance = values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / values.length;
  return { mean, splits: Math.sqrt(variance), ...interval95(drawn.map(of), mean) };
}

/** Returns the bins of all trials together. */
function allBins(trials: readonly Trial[], { predicted }: Prediction): Bin[] {
  const join = (arrays: readonly Float64Array[]) => Float64Array.from(arrays.flatMap((array) => [...array]));
  return binsOf(join(predicted), join(trials.map(({ test }) => test.labels)));
}
