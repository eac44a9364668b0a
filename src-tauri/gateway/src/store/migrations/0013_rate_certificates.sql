-- A rate's certificate tells of every quote that was known, used or not, with its time. What was stored so far were the
-- quotes that were used, as an object of names and numbers; the time of the oldest is all that is known of theirs.
UPDATE rates SET sources = (
    SELECT json_group_array(json_object('name', quote.key, 'rate', CAST(quote.value AS TEXT), 'time', rates.at, 'used', json('true')))
    FROM json_each(rates.sources) AS quote)
WHERE json_valid(sources) AND json_type(sources) = 'object';

-- The same rate of the same time may have been made of other quotes: each has a certificate of its own.
DROP INDEX rates_by_currency;
CREATE UNIQUE INDEX rates_by_currency ON rates (currency, at, rate, sources);
