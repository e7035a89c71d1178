"""Vocabulary of the generated policies and questions.

What decides relevance is a triple: its wording in a policy, in a plain question and in
a professional one.
"""


def _triples(text):
    """Give the lines of a text in threes."""
    lines = [line.strip() for line in text.strip().splitlines()]
    return tuple(zip(lines[::3], lines[1::3], lines[2::3], strict=True))


#: Per line of business: its name in a policy, in a plain question, and its perils.
TOPICS = {
    "boat": (
        "pleasure craft",
        "my boat",
        _triples("""
        contact with a submerged object
        hits something under water
        striking of unseen obstacles while under way
        theft of the outboard engine
        has its motor stolen
        larceny of detached propulsion units
        breaking away from moorings
        comes loose from the quay
        parting of the berthing lines
        collapse of the mast or rigging
        loses its mast
        failure of spars
        sinking through a failed seacock
        goes down at the berth because a valve leaks
        ingress through skin fittings
        """),
    ),
    "bakery": (
        "bakeries and pastry shops",
        "my bakery",
        _triples("""
        breakdown of an oven
        cannot bake because the oven is dead
        mechanical failure of baking equipment
        deterioration of dough and cream after a power cut
        must throw everything away when the electricity fails
        spoilage following loss of supply
        explosion of flour dust
        has a blast in the flour store
        deflagration of suspended particles
        foreign bodies in bread sold
        sold a loaf with metal in it
        product contamination claims of consumers
        closing on account of insects
        is shut because of moths
        authority order after infestation
        """),
    ),
    "bicycle": (
        "bicycles and electric cycles",
        "my bike",
        _triples("""
        theft from a locked room
        disappears from the cellar
        burglary of enclosed storage
        damage to the traction battery
        has a dead battery
        defects of the energy accumulator
        a fall of the rider
        is smashed when I crash
        self-inflicted collision loss
        vandalism in a public place
        is kicked to pieces at the station
        malicious acts of unknown persons
        loss by an airline
        does not arrive after my flight
        non-delivery by a carrier
        """),
    ),
    "greenhouse": (
        "market gardens under glass",
        "my glasshouse",
        _triples("""
        breakage of panes by hail
        has its roof broken by ice
        hailstone impact on glazing
        failure of the heating in frost
        freezes because the boiler stopped
        temperature loss in cold weather
        snow load on the structure
        caves in under snow
        weight of frozen precipitation
        drift of weed killer from a neighbour
        is poisoned by the farm next door
        third-party herbicide exposure
        plant disease ordered to be destroyed
        must burn the crop by order
        statutory eradication of a pathogen
        """),
    ),
    "gallery": (
        "galleries and collectors",
        "my gallery",
        _triples("""
        accidental damage while hanging
        drops a picture when putting it up
        mishandling during installation
        loss of an object on consignment
        loses a piece that belongs to an artist
        disappearance of entrusted property
        water from a sprinkler
        is soaked by the fire system
        accidental discharge of extinguishing installations
        a defect in title
        turns out to have bought stolen art
        claims of a rightful owner
        breakage in a courier's van
        receives a sculpture in pieces
        transit damage in the hands of a forwarder
        """),
    ),
    "drone": (
        "unmanned aircraft",
        "my drone",
        _triples("""
        injury to persons on the ground
        hurts somebody below
        bodily harm to uninvolved parties
        loss of the radio link
        flies off and never returns
        interruption of the command signal
        invasion of privacy by images
        films a neighbour who sues
        unlawful recording claims
        damage to a hired camera
        breaks a rented lens
        loss of third-party payload
        collision with a bird
        is struck by a gull
        in-flight wildlife encounter
        """),
    ),
    "hostel": (
        "hostels and guest houses",
        "my hostel",
        _triples("""
        theft among guests
        has a thief in the dormitory
        larceny of visitors' effects on the premises
        infestation by bed bugs
        has bugs in the mattresses
        pest treatment expenditure
        cancellation of group bookings
        loses a school class at short notice
        withdrawal of block reservations
        scalding in the showers
        has a guest burnt by hot water
        injury from sanitary installations
        damage by a party of guests
        is wrecked by a stag night
        wilful acts of lodgers
        """),
    ),
    "clinic": (
        "veterinary and dental surgeries",
        "my practice",
        _triples("""
        loss of vaccines in a refrigerator
        finds the fridge warm on Monday
        cold-chain failure of biologicals
        breakdown of imaging equipment
        has a broken scanner
        defect of diagnostic apparatus
        absence of the principal through illness
        must close while I am ill
        incapacity of the sole practitioner
        disclosure of patients' records
        leaks files about patients
        unauthorised release of confidential data
        theft of controlled drugs
        has its medicine cupboard robbed
        burglary of scheduled substances
        """),
    ),
}
CONDITIONS = _triples("""
    no alarm is required
    I have no alarm
    absent intruder detection
    an annual survey is on file
    I have it checked each year
    with yearly inspection
    a keyholder calls every week
    a friend looks in weekly
    given regular visits
    use by the household alone
    only my family uses it
    private users only
    letting to others is permitted
    I rent it out at times
    with hire to strangers
    new for old up to five years
    I want the price of a new one
    replacement basis
    value agreed beforehand
    the amount is settled in advance
    valued policy
    cover continues while laid up
    I do not use it all winter
    seasonal lay-up
""")
INSURERS = (
    "Amberline",
    "Birchgate",
    "Coppermoor",
    "Dovecote",
    "Elmstead",
    "Foxglove",
    "Grayling",
    "Heatherlane",
    "Inverlea",
    "Kittiwake",
    "Lanternhill",
    "Moorcroft",
)
REGIONS = (
    "Norway",
    "Portugal",
    "Ireland",
    "Poland",
    "Greece",
    "Denmark",
    "Austria",
    "Estonia",
    "Belgium",
    "Croatia",
    "Iceland",
    "Malta",
)
