select carrier, airline, length(airline) as letters
from {{ ref('stg_airlines') }}
