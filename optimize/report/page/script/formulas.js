"use strict";
// What a month costs at other prices, demand and discount rates: the formulas of optimize/money/quantities.py and of the workbook.
// No page in here, so that tests run it alone.
const formulas = (() => {
  const dot = (values, weights) => values.reduce((sum, value, t) => sum + value * weights[t], 0);

  // Hosts by the pool's capacity line: work <= slope x replicas - intercept; none where there is no work.
  const needed = (pool, work) => (work > 0 ? Math.max(Math.ceil((work + pool.intercept) / pool.slope / pool.per_host - 1e-9), 1) : 0);

  // Hosts that are paid in each slice at `factor` times the load that the pool was made for: today's, plus what the line asks beyond it.
  const paid = (pool, factor) => {
    const run = pool.hosts.map((hosts, t) => {
      const work = pool.work[t];
      const more = needed(pool, work * factor) - needed(pool, work);
      return hosts > 0 ? Math.max(hosts + more, work > 0 ? 1 : 0) : 0;
    });
    if (pool.elastic) return run.map((hosts, t) => Math.max(hosts, 0) + Math.max(pool.billed[t] - pool.hosts[t], 0));
    const most = Math.max(0, Math.max(...pool.billed) + Math.max(...run) - Math.max(...pool.hosts));
    return run.map(() => most);
  };

  const hostsUsd = (part, weights, demand, gpu) => {
    const factor = demand / part.made_for;
    return part.pools.reduce((sum, pool) => sum + dot(paid(pool, factor), weights) * pool.usd_per_hour * gpu, part.pool_rest * gpu);
  };
  const callsUsd = (part, demand, api) => (part.token * (demand / part.made_for) + part.relay_rest) * api;

  // USD of a month of one fleet: hosts, calls, fixed.
  const parts = (data, fleet, at) => ({
    gpu: fleet.level * fleet.parts.reduce((sum, part) => sum + hostsUsd(part, data.weight_h, at.demand, at.gpu), 0),
    relay: fleet.level * fleet.parts.reduce((sum, part) => sum + callsUsd(part, at.demand, at.api), 0),
    fixed: fleet.fixed + fleet.looked * (at.demand - 1),
  });
  const monthUsd = (data, fleet, at) => {
    const month = parts(data, fleet, at);
    return month.gpu + month.relay + month.fixed;
  };

  // USD of the months ahead in money of today: each moves as the first does, after free credits, at the discount rate.
  const presentUsd = (data, at) => {
    const today = { gpu: 1, api: 1, demand: 1 };
    const was = parts(data, data.fleets[0], today);
    const now = parts(data, data.fleets[0], at);
    const gpu = was.gpu > 0 ? now.gpu / was.gpu : at.gpu;
    const relay = was.relay > 0 ? now.relay / was.relay : at.api;
    const monthly = (1 + at.rate) ** (1 / 12) - 1;
    let credit = data.credits[0];
    return data.months.reduce((sum, month, m) => {
      const bill = month[0] * gpu + month[1] * relay + month[2] + (now.fixed - was.fixed) + month[3];
      const used = data.credits[1] === null || m < data.credits[1] ? Math.min(credit, bill) : 0;
      credit -= used;
      return sum + (bill - used) / (1 + monthly) ** m;
    }, 0);
  };

  // The cheapest fleet that was examined: its place and USD.
  const best = (data, at) => {
    const costs = data.fleets.map((fleet) => monthUsd(data, fleet, at));
    const place = costs.reduce((least, usd, k) => (usd < costs[least] ? k : least), 0);
    return { place, usd: costs[place], ours: costs[0] };
  };
  const stays = (data, at) => {
    const found = best(data, at);
    return found.ours <= found.usd * (1 + data.tolerance);
  };

  // First and last of `values`, rising, around the one at `place`, at which the plan's fleet stays the best; null where it is not even there.
  const range = (data, at, key, values, place) => {
    const holds = (k) => stays(data, { ...at, [key]: values[k] });
    if (!holds(place)) return null;
    let low = place;
    let high = place;
    while (low > 0 && holds(low - 1)) low -= 1;
    while (high < values.length - 1 && holds(high + 1)) high += 1;
    return [low, high];
  };

  return { parts, monthUsd, presentUsd, best, stays, range };
})();
if (typeof module !== "undefined") module.exports = formulas;
