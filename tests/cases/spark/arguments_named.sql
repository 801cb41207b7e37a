select mask(str => name, lowerChar => 'x') as m, e.part
from people p, lateral explode(collection => split(p.city, 'o')) as e(part)
